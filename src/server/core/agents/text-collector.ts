/** Collects the texts of one message with their positions, and rewrites the message with changed texts. */
import { isUtf8 } from "node:buffer";
import { applySplices, type JsonNode, type Splice, stringIn } from "../dialects/index.ts";
import type { AgentText, AgentTexts, UninspectedMedia } from "./types.ts";

/** Maximum number of texts of a message. Each is scanned, within one turn of the event loop. */
const MAX_TEXTS = 20_000;

const TEXTUAL = /^\s*(?:text\/|application\/(?:[\w.+-]+\+)?(?:json|xml|yaml|x-yaml|javascript|sql|toml)\b)/i;
const MEDIA = /^\s*(image|audio|video)\//i;

export type TextProperties = Pick<AgentText, "kind" | "ref" | "isReadOnly"> & { readonly isArgument?: boolean };

interface Spot {
  readonly node: JsonNode;
  readonly isBase64: boolean;
}

export class TextCollector {
  readonly #source: string;
  readonly #texts: AgentText[] = [];
  readonly #spots: Spot[] = [];
  readonly #uninspected: UninspectedMedia[] = [];

  constructor(source: string) {
    this.#source = source;
  }

  /** Adds a string; other nodes are ignored. Throws `TooManyTexts`. */
  add(node: JsonNode, properties: TextProperties): void {
    const text = stringIn(this.#source, node);
    if (text !== undefined && text !== "") this.#add(text, { node, isBase64: false }, properties);
  }

  /** Adds every string value in the tree, whatever its name. */
  addAll(node: JsonNode, properties: TextProperties): void {
    if (node.kind === "array") for (const item of node.items) this.addAll(item, properties);
    else if (node.kind === "object") for (const { value } of node.members) this.addAll(value, properties);
    else this.add(node, properties);
  }

  /** Adds base64 content: as a text if its media type is textual, otherwise to `uninspected`. */
  addEncoded(node: JsonNode, mediaType: string, properties: TextProperties): void {
    const encoded = stringIn(this.#source, node);
    if (encoded === undefined || encoded === "") return;
    const bytes = TEXTUAL.test(mediaType) ? Buffer.from(encoded, "base64") : undefined;
    if (bytes === undefined || !isUtf8(bytes)) this.countUninspected(MEDIA.exec(mediaType)?.[1]?.toLowerCase());
    else if (bytes.length > 0) this.#add(bytes.toString("utf8"), { node, isBase64: true }, properties);
  }

  get textCount(): number {
    return this.#texts.length;
  }

  countUninspected(mediaKind: string | undefined): void {
    this.#uninspected.push(
      mediaKind === "image" || mediaKind === "audio" || mediaKind === "video" ? mediaKind : "file",
    );
  }

  toTexts(): AgentTexts {
    const source = this.#source;
    const texts = this.#texts;
    const spots = this.#spots;
    return {
      texts,
      uninspected: this.#uninspected,
      rewrite(changes) {
        const splices: Splice[] = [];
        for (const [at, { text, isReadOnly }] of texts.entries()) {
          const change = changes[at];
          const spot = spots[at];
          if (change === undefined || change === text || isReadOnly || spot === undefined) continue;
          const { start, end } = spot.node;
          const written = spot.isBase64 ? Buffer.from(change).toString("base64") : change;
          splices.push({ start, end, text: JSON.stringify(written) });
        }
        return splices.length === 0 ? source : applySplices(source, splices);
      },
    };
  }

  #add(text: string, spot: Spot, properties: TextProperties): void {
    if (this.#texts.length === MAX_TEXTS) throw new TooManyTexts();
    const { kind, ref, isReadOnly, isArgument = false } = properties;
    this.#texts.push({ kind, text, ref, turn: 0, isReadOnly, isArgument });
    this.#spots.push(spot);
  }
}

/** Thrown for a message with too many texts. Such a message is refused if it must be inspected. */
export class TooManyTexts extends Error {
  constructor() {
    super(`the message has more than ${MAX_TEXTS} texts`);
  }
}
