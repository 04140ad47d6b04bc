/**
 * Finds the texts of a streamed answer, and rewrites each event with the text that may be shown. A caller that holds back text
 * passes, for each piece, the text that its channel may show now. When a channel ends, `flush` builds a frame from the text
 * still held back. Source: guardrails reference, 5.4.
 *
 * Events of `responses` repeat whole texts at the end of the text. A text that came in pieces is kept until then, so that the
 * repetition shows the same as the pieces did. A repetition that differs from its pieces is a new text.
 */

import { objectOf, tryParseJson } from "../json/json-values.ts";
import type { Dialect } from "../routes/routes.ts";
import { MAX_EVENT_BYTES, type SseEvent } from "../sse.ts";
import type { ChunkStamp, StreamStamp } from "../write-refusal.ts";
import { eachString, type FoundString, isSound, isThought, type Media, scopeOf } from "./answer-strings.ts";
import { type Framing, MESSAGES, SENT_EVENTS } from "./event-framing.ts";
import { type EventTemplate, type SimilarEvent, similarEvent, templateOf, withText } from "./event-template.ts";
import { GrowingTexts } from "./growing-texts.ts";
import { isPiece, type Layout, layoutOf } from "./layouts.ts";
import {
  hasTwins,
  indexIn,
  isNothing,
  memberOf,
  type Placed,
  placedIn,
  type Splice,
  spliced,
  stringIn,
} from "./placed.ts";
import { carriesMore, frameOf } from "./text-frames.ts";
import { TextRecord } from "./text-record.ts";
import { sealGone, tokensGone } from "./whole.ts";

/** Piece of a channel's text. A channel is one text of the answer, such as the content of a choice. */
export interface TextPiece {
  readonly channel: string;
  readonly text: string;
  /** Whether the text ends with this piece. */
  readonly isEnd: boolean;
}

export interface EventTexts {
  readonly event: SseEvent;
  /** Pieces in the order in which they appear. One channel may have several. */
  readonly pieces: readonly TextPiece[];
  /** Channels that end with this event without a piece in it. Their held-back text is sent before the event (`flush`). */
  readonly closes: readonly string[];
  readonly uninspected: readonly Media[];
}

export interface StreamTexts {
  readonly read: (event: SseEvent) => EventTexts;
  /**
   * Returns the event's bytes with `shown` in the place of its pieces: the same buffer if nothing changes, `undefined` if
   * nothing is left to send. Must be called for each event that was read, in order.
   */
  readonly reemit: (texts: EventTexts, shown: readonly string[]) => Buffer | undefined;
  /**
   * Reads the event that begins at an offset of the bytes if it differs from the last one in a single text. Only that text
   * needs inspection; it continues the channel `template.path`.
   */
  readonly readSimilar: (bytes: Buffer, at: number) => SimilarEvent | undefined;
  /** Rewrites an event that `readSimilar` returned, as `reemit` does. */
  readonly reemitSimilar: (event: SimilarEvent, shown: string) => Buffer | undefined;
  /**
   * Returns a frame with text that the channel held back, or `undefined` if nothing is to be shown. `isEnd` marks the last text
   * of the channel.
   */
  readonly flush: (channel: string, text: string, isEnd: boolean) => Buffer | undefined;
  /** Ends the stream. Returns all channels that are still open. */
  readonly end: () => readonly string[];
  /** Fields of the stream that a refusal has to repeat; `undefined` if nothing suitable was read. */
  readonly stamp: StreamStamp | undefined;
  /** Estimated memory of the kept texts, in bytes. */
  readonly heldBytes: number;
}

/** String of an event that is inspected. */
interface Spot {
  /** Position of the string; `undefined` if the event's data is not JSON and is read as one text. */
  readonly node: Placed | undefined;
  readonly path: string;
  readonly text: string;
  readonly record: TextRecord;
  /** Index in `pieces` of the string's first piece. */
  readonly first: number;
  /** Whether the string repeats a text that was shown before. */
  readonly isRepeat: boolean;
  /** Index of the piece that joins it with the earlier text at the same path; -1 if there is none. */
  readonly joined: number;
}

interface Reading extends EventTexts {
  readonly root: Placed | undefined;
  readonly type: string;
  readonly spots: readonly Spot[];
  readonly seals: readonly Extract<FoundString, { readonly is: "seal" | "tokens" }>[];
}

const DONE = "[DONE]";
/** Routes whose streams never repeat a text. */
const CHUNKS: ReadonlySet<string> = new Set(["chat_completions", "completions"]);
const NONE: readonly never[] = [];

export function openStreamTexts(dialect: Dialect, routeName: string): StreamTexts {
  return new Stream(dialect, dialect === "compat" && !CHUNKS.has(routeName), SENT_EVENTS);
}

/** Opens the texts of one response of a session, or of one item of its conversation. Events are messages (`messageEvent`). */
export function openSessionTexts(): StreamTexts {
  return new Stream("compat", true, MESSAGES);
}

class Stream implements StreamTexts {
  readonly #dialect: Dialect;
  readonly #repeats: boolean;
  readonly #framing: Framing;
  /** Index in the answer's output, by item id. */
  readonly #items = new Map<string, number>();
  /** State of each text by path. */
  readonly #records = new Map<string, TextRecord>();
  /** Channels that the last event closed. */
  #closed: string[] = [];
  readonly #readings = new WeakMap<EventTexts, Reading>();
  readonly #grown = new GrowingTexts();
  /** Template of the last event, if the next one may resemble it. */
  #template: EventTemplate | undefined;
  /** Scopes in which a text, or a thought, was shown differently from how it arrived. */
  readonly #changed = new Set<string>();
  readonly #changedThoughts = new Set<string>();
  #sequence = -1;
  /** Number of frames that were inserted into the stream. */
  #made = 0;
  #stamp: Omit<ChunkStamp, "choices"> | undefined;
  /** Data of the event that began a response. */
  #begun: string | undefined;
  /** Indexes of the choices that are in progress. */
  readonly #choices = new Set<number>();

  constructor(dialect: Dialect, repeats: boolean, framing: Framing) {
    this.#dialect = dialect;
    this.#repeats = repeats;
    this.#framing = framing;
  }

  get heldBytes(): number {
    let units = 0;
    for (const record of this.#records.values()) units += record.heldUnits;
    return 2 * units;
  }

  get stamp(): StreamStamp | undefined {
    const response =
      this.#begun === undefined ? undefined : objectOf(objectOf(tryParseJson(this.#begun))?.["response"]);
    if (response !== undefined) return { response, sequence: this.#sequence + 1 };
    return this.#stamp === undefined ? undefined : { ...this.#stamp, choices: [...this.#choices] };
  }

  read(event: SseEvent): EventTexts {
    this.#template = undefined;
    for (const path of this.#closed) if (!this.#repeats) this.#records.delete(path);
    this.#closed = [];
    const { data } = event;
    if (data === undefined) {
      return plainReading(event, event.bytes.length > MAX_EVENT_BYTES ? ["file"] : NONE);
    }
    if (data.trim() === DONE) return { ...plainReading(event, NONE), closes: this.end() };
    const root = placedIn(data);
    if (root !== undefined && hasTwins(root)) return this.read(this.#withoutTwins(event, data));
    const reading = root?.kind === "object" ? this.#readTree(event, data, root) : this.#readText(event, data);
    this.#readings.set(reading, reading);
    this.#template = this.#templateFrom(reading);
    return reading;
  }

  readSimilar(bytes: Buffer, at: number): SimilarEvent | undefined {
    const template = this.#template;
    if (template === undefined || this.#closed.length > 0) return undefined;
    const { record, path } = template;
    if (this.#records.get(path) !== record || !record.isUnderWay) return undefined;
    const event = similarEvent(template, bytes, at);
    if (event !== undefined) record.read(event.text, false);
    return event;
  }

  reemitSimilar(event: SimilarEvent, shown: string): Buffer | undefined {
    const { path, record } = event.template;
    const made = record.shown(NONE, [shown], 0, event.text);
    if (record.isChanged) this.#noteChange(path);
    if (made !== event.text) this.#changed.add(scopeOf(path));
    return withText(event, made);
  }

  reemit(texts: EventTexts, shown: readonly string[]): Buffer | undefined {
    const reading = this.#readings.get(texts);
    const data = texts.event.data;
    if (reading === undefined || data === undefined) return texts.event.bytes;
    const splices: Splice[] = [];
    const emptied = new Set<Placed>();
    for (const spot of reading.spots) {
      const made = this.#shownAt(spot, reading, shown);
      if (spot.record.isWhole) this.#grown.note(spot.path, spot.text, made);
      if (spot.record.isChanged) this.#noteChange(spot.path);
      if (made === spot.text) continue;
      if (spot.node === undefined) return this.#framing.replaced(texts.event, made);
      this.#changed.add(scopeOf(spot.path));
      splices.push({ start: spot.node.start, end: spot.node.end, text: JSON.stringify(made) });
      if (made === "") emptied.add(spot.node);
    }
    const { root, type } = reading;
    if (root === undefined) return texts.event.bytes;
    if (emptied.size > 0 && !carriesMore(this.#dialect, type, data, root, emptied)) return undefined;
    for (const { is, path, node } of reading.seals) {
      const isVoid = (is === "seal" ? this.#changedThoughts : this.#changed).has(scopeOf(path));
      if (isVoid)
        splices.push({ start: node.start, end: node.end, text: is === "seal" ? sealGone(path) : tokensGone(path) });
    }
    this.#renumber(data, root, splices);
    return splices.length === 0 ? texts.event.bytes : this.#framing.replaced(texts.event, spliced(data, splices));
  }

  flush(channel: string, text: string, isEnd: boolean): Buffer | undefined {
    for (const [path, record] of this.#records) {
      const value = record.valueOf(channel);
      if (value === undefined) continue;
      const written = record.written(value, text, isEnd) + (isEnd ? record.rest() : "");
      if (record.isChanged && isThought(path)) this.#changedThoughts.add(scopeOf(path));
      if (written === "" || record.template === undefined) return undefined;
      this.#changed.add(scopeOf(path));
      if (this.#sequence >= 0) this.#sequence++;
      const sequence = this.#sequence < 0 ? undefined : this.#sequence;
      const numbers = { sequence, serial: ++this.#made };
      const { event, data } = frameOf(this.#dialect, path, record.template, written, numbers);
      return this.#framing.made(event, data);
    }
    return undefined;
  }

  end(): readonly string[] {
    return this.#close([""], new Set());
  }

  /**
   * Returns a template if the event has exactly one text, which continues in later events, and nothing else that is inspected
   * or numbered.
   */
  #templateFrom(reading: Reading): EventTemplate | undefined {
    const { event, spots, pieces, closes, seals, uninspected, root, type } = reading;
    const [spot] = spots;
    if (spot?.node === undefined || root === undefined || spots.length > 1 || pieces.length !== 1) return undefined;
    if (closes.length > 0 || seals.length > 0 || uninspected.length > 0 || this.#closed.length > 0) return undefined;
    const { node, path, record } = spot;
    const isKnown =
      this.#dialect === "messages" ? type === "content_block_delta" : memberOf(root, "choices") !== undefined;
    if (spot.isRepeat || record.isWhole || this.#repeats || this.#framing !== SENT_EVENTS) return undefined;
    const isSole = pieces[0]?.channel === path && pieces[0].isEnd === false && spot.joined < 0;
    if (!isKnown || !isSole || memberOf(root, "sequence_number") !== undefined) return undefined;
    const more = carriesMore(this.#dialect, type, event.data ?? "", root, new Set([node]));
    const padding = memberOf(root, "obfuscation");
    const varying = { text: node, padding: padding?.kind === "string" ? padding : undefined };
    return templateOf(event, varying, { path, record, carriesMore: more });
  }

  /** Drops repeated members. Clients use the last of several members of one name, so only the last is passed on. */
  #withoutTwins(event: SseEvent, data: string): SseEvent {
    const once = JSON.stringify(tryParseJson(data));
    return { ...event, data: once, bytes: this.#framing.replaced(event, once) };
  }

  #readText(event: SseEvent, data: string): Reading {
    const record = new TextRecord("", false, false);
    const spot: Spot = { node: undefined, path: "", text: data, record, first: 0, isRepeat: false, joined: -1 };
    const pieces = data === "" ? NONE : record.read(data, true);
    return {
      ...plainReading(event, NONE),
      pieces,
      spots: data === "" ? NONE : [spot],
      root: undefined,
      type: "",
      seals: NONE,
    };
  }

  #readTree(event: SseEvent, data: string, root: Placed): Reading {
    const layout = layoutOf(this.#dialect, event.event, data, root, this.#items);
    if (this.#dialect === "compat") this.#noteChunk(data, root);
    if (layout.type === "response.created") this.#begun ??= data;
    const spots: Spot[] = [];
    const pieces: TextPiece[] = [];
    const uninspected: Media[] = [];
    const seals: Reading["seals"][number][] = [];
    for (const walk of layout.walks) {
      eachString(data, walk.node, walk.path, "known", (found) => {
        if (found.is === "media" || (walk.as === "media" && found.is === "text" && isSound(found.text))) {
          uninspected.push(found.is === "media" ? found.what : "audio");
          return;
        }
        if (found.is === "seal" || found.is === "tokens") {
          seals.push(found);
          return;
        }
        const { path, node, text } = found;
        const isArguments = found.is === "arguments" || walk.as === "arguments";
        const isWhole = !isPiece(walk.as, path);
        const known = this.#records.get(path);
        const isRepeat = isWhole && this.#repeats && known !== undefined && known.received === text;
        if (isRepeat) {
          spots.push({ node, path, text, record: known, first: pieces.length, isRepeat, joined: -1 });
          return;
        }
        let record = isWhole || known?.isWhole === true ? undefined : known;
        if (record === undefined) {
          // A text that does not continue the pieces at its path gets its own channel.
          record = new TextRecord(path, isArguments, isWhole);
          // While more pieces may follow, their record is kept, and a repetition gets its own record.
          if (!isWhole || (this.#repeats && known?.isUnderWay !== true)) {
            if (known !== undefined) this.#records.set(`${path}!`, known);
            this.#records.set(path, record);
          }
        }
        if (!isWhole) record.template = { data, start: node.start, event: event.event };
        const isLast = isWhole || ends(layout, path);
        const first = pieces.length;
        pieces.push(...record.read(text, isLast, this.#repeats));
        const joined = isWhole && walk.as !== "whole" ? this.#grown.joined(path, text) : undefined;
        spots.push({ node, path, text, record, first, isRepeat, joined: joined === undefined ? -1 : pieces.length });
        if (joined !== undefined) pieces.push({ channel: `${path}+`, text: joined, isEnd: true });
      });
    }
    const inEvent = new Set(spots.filter((spot) => !spot.isRepeat).map((spot) => spot.record));
    const closes = this.#close(layout.ends, inEvent);
    return { event, pieces, closes, uninspected, root, type: layout.type, spots, seals };
  }

  #noteChunk(data: string, root: Placed): void {
    const choices = memberOf(root, "choices");
    if (choices?.kind !== "array") return;
    const own = (name: string): string => stringIn(data, memberOf(root, name)) ?? "";
    this.#stamp ??= {
      id: own("id"),
      object: own("object") || "chat.completion.chunk",
      created: indexIn(data, memberOf(root, "created")) ?? 0,
      model: own("model"),
    };
    choices.items.forEach((choice, i) => {
      const index = indexIn(data, memberOf(choice, "index")) ?? i;
      if (isNothing(data, memberOf(choice, "finish_reason"))) this.#choices.add(index);
      else this.#choices.delete(index);
    });
  }

  /** Closes the open texts whose paths begin with one of `prefixes`, and returns their channels. */
  #close(prefixes: readonly string[], inEvent: ReadonlySet<TextRecord>): readonly string[] {
    const closes: string[] = [];
    if (prefixes.length === 0) return closes;
    for (const [path, record] of this.#records) {
      if (!prefixes.some((prefix) => path.startsWith(prefix))) continue;
      this.#closed.push(path);
      const channel = inEvent.has(record) ? undefined : record.close();
      if (channel !== undefined) closes.push(channel);
    }
    return closes;
  }

  #shownAt(spot: Spot, reading: Reading, shown: readonly string[]): string {
    if (spot.isRepeat) return spot.record.isChanged ? spot.record.released : spot.text;
    const made = spot.record.shown(reading.pieces, shown, spot.first, spot.text);
    const joined = reading.pieces[spot.joined];
    if (joined === undefined) return made;
    // A finding within the new text was already applied to it. A finding across the boundary to the earlier text removes it
    // all.
    const seam = this.#grown.shownAt(spot.path);
    return (shown[spot.joined] ?? joined.text).startsWith(seam) ? made : "";
  }

  #noteChange(path: string): void {
    this.#changed.add(scopeOf(path));
    if (isThought(path)) this.#changedThoughts.add(scopeOf(path));
  }

  /** Raises the sequence number by the number of inserted frames. */
  #renumber(data: string, root: Placed, splices: Splice[]): void {
    const node = memberOf(root, "sequence_number");
    const number = indexIn(data, node);
    if (node === undefined || number === undefined) return;
    if (number <= this.#sequence) {
      splices.push({ start: node.start, end: node.end, text: String(this.#sequence + 1) });
    }
    this.#sequence = Math.max(number, this.#sequence + (number <= this.#sequence ? 1 : 0));
  }
}

const ends = (layout: Layout, path: string): boolean => layout.ends.some((prefix) => path.startsWith(prefix));

function plainReading(event: SseEvent, uninspected: readonly Media[]): EventTexts & Omit<Reading, keyof EventTexts> {
  return { event, pieces: NONE, closes: NONE, uninspected, root: undefined, type: "", spots: NONE, seals: NONE };
}
