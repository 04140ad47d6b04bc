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
import { type FoundString, isAudioData, isThought, type Media, scopeOf, visitStrings } from "./answer-strings.ts";
import { type Framing, MESSAGE_FRAMING, SSE_FRAMING } from "./event-framing.ts";
import { type EventTemplate, replaceText, type SimilarEvent, similarEvent, templateOf } from "./event-template.ts";
import type { EventTexts, StreamTexts, TextPiece } from "./event-texts.ts";
import { GrowingTexts } from "./growing-texts.ts";
import { isPiece, layoutOf } from "./layouts.ts";
import { PathPrefixes } from "./path-prefixes.ts";
import {
  applySplices,
  hasDuplicateNames,
  indexIn,
  isNullOrAbsent,
  type JsonNode,
  memberOf,
  parseJsonTree,
  type Splice,
  stringIn,
} from "./positioned-json.ts";
import { carriesMore, frameOf } from "./text-frames.ts";
import { pathsOfChannel, TextRecord } from "./text-record.ts";
import { removedSealJson, removedTokensJson } from "./whole-answer-texts.ts";

/** String of an event that is inspected. */
interface Spot {
  /** Position of the string; `undefined` if the event's data is not JSON and is read as one text. */
  readonly node: JsonNode | undefined;
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
  readonly root: JsonNode | undefined;
  readonly type: string;
  readonly spots: readonly Spot[];
  readonly seals: readonly Extract<FoundString, { readonly kind: "seal" | "tokens" }>[];
}

const DONE = "[DONE]";
/** Matches the text of a part of a delta's content. Some providers send parts and plain texts in turn: they are one text. */
const CONTENT_PART = /^(choices\.\d+\.delta\.content)\.\d+\.text$/;
/** Routes whose streams never repeat a text. */
const ROUTES_WITHOUT_REPETITION: ReadonlySet<string> = new Set(["chat_completions", "completions"]);
const NONE: readonly never[] = [];

export function openStreamTexts(dialect: Dialect, routeName: string): StreamTexts {
  return new Stream(dialect, dialect === "compat" && !ROUTES_WITHOUT_REPETITION.has(routeName), SSE_FRAMING);
}

/** Opens the texts of one response of a session, or of one item of its conversation. Events are messages (`messageEvent`). */
export function openSessionTexts(): StreamTexts {
  return new Stream("compat", true, MESSAGE_FRAMING);
}

class Stream implements StreamTexts {
  readonly #dialect: Dialect;
  readonly #repeatsTexts: boolean;
  readonly #framing: Framing;
  /** Index in the answer's output, by item id. */
  readonly #itemIndexes = new Map<string, number>();
  /** State of each text by path. */
  readonly #records = new Map<string, TextRecord>();
  /** Paths in `#records` of the texts that were read since they last ended. */
  readonly #openPaths = new Set<string>();
  /** Channels that the last event closed. */
  #closedPaths: string[] = [];
  readonly #readings = new WeakMap<EventTexts, Reading>();
  readonly #growing = new GrowingTexts();
  /** Template of the last event, if the next one may resemble it. */
  #template: EventTemplate | undefined;
  /** Scopes in which a text, or a thought, was shown differently from how it arrived. */
  readonly #changedScopes = new Set<string>();
  readonly #changedThinkingScopes = new Set<string>();
  #sequence = -1;
  /** Number of frames that were inserted into the stream. */
  #insertedFrames = 0;
  #stamp: Omit<ChunkStamp, "choices"> | undefined;
  /** Data of the event that began a response. */
  #responseStart: string | undefined;
  /** Indexes of the choices that are in progress. */
  readonly #choices = new Set<number>();

  constructor(dialect: Dialect, repeats: boolean, framing: Framing) {
    this.#dialect = dialect;
    this.#repeatsTexts = repeats;
    this.#framing = framing;
  }

  get heldBytes(): number {
    let units = 0;
    for (const record of this.#records.values()) units += record.heldUnits;
    return 2 * units;
  }

  get stamp(): StreamStamp | undefined {
    const response =
      this.#responseStart === undefined
        ? undefined
        : objectOf(objectOf(tryParseJson(this.#responseStart))?.["response"]);
    if (response !== undefined) return { response, sequence: this.#sequence + 1 };
    return this.#stamp === undefined ? undefined : { ...this.#stamp, choices: [...this.#choices] };
  }

  read(event: SseEvent): EventTexts {
    this.#template = undefined;
    if (!this.#repeatsTexts) for (const path of this.#closedPaths) this.#records.delete(path);
    this.#closedPaths = [];
    const { data } = event;
    if (data === undefined) {
      return readingWithoutTexts(event, event.bytes.length > MAX_EVENT_BYTES ? ["file"] : NONE);
    }
    if (data.trim() === DONE) return { ...readingWithoutTexts(event, NONE), closedChannels: this.end() };
    const root = parseJsonTree(data);
    if (root !== undefined && hasDuplicateNames(root)) return this.read(this.#withoutDuplicates(event, data));
    const reading = root?.kind === "object" ? this.#readTree(event, data, root) : this.#readText(event, data);
    this.#readings.set(reading, reading);
    this.#template = this.#templateFrom(reading);
    return reading;
  }

  readSimilar(bytes: Buffer, at: number): SimilarEvent | undefined {
    const template = this.#template;
    if (template === undefined || this.#closedPaths.length > 0) return undefined;
    const { record, path } = template;
    if (this.#records.get(path) !== record || !record.mayContinue) return undefined;
    const event = similarEvent(template, bytes, at);
    if (event !== undefined) record.read(event.text, false);
    return event;
  }

  rewriteSimilar(event: SimilarEvent, shown: string): Buffer | undefined {
    const { path, record } = event.template;
    const made = record.takeReplacement(NONE, [shown], 0, event.text);
    if (record.isChanged) this.#markChanged(path);
    if (made !== event.text) this.#changedScopes.add(scopeOf(path));
    return replaceText(event, made);
  }

  rewrite(texts: EventTexts, shown: readonly string[]): Buffer | undefined {
    const reading = this.#readings.get(texts);
    const data = texts.event.data;
    if (reading === undefined || data === undefined) return texts.event.bytes;
    const splices: Splice[] = [];
    const emptied = new Set<JsonNode>();
    for (const spot of reading.spots) {
      const made = this.#shownText(spot, reading, shown);
      if (spot.record.isWhole) this.#growing.record(spot.path, spot.text, made);
      if (spot.record.isChanged) this.#markChanged(spot.path);
      if (made === spot.text) continue;
      if (spot.node === undefined) return this.#framing.replaceData(texts.event, made);
      this.#changedScopes.add(scopeOf(spot.path));
      splices.push({ start: spot.node.start, end: spot.node.end, text: JSON.stringify(made) });
      if (made === "") emptied.add(spot.node);
    }
    const { root, type } = reading;
    if (root === undefined) return texts.event.bytes;
    if (emptied.size > 0 && !carriesMore(this.#dialect, type, data, root, emptied)) return undefined;
    for (const { kind, path, node } of reading.seals) {
      const isVoid = (kind === "seal" ? this.#changedThinkingScopes : this.#changedScopes).has(scopeOf(path));
      if (isVoid)
        splices.push({
          start: node.start,
          end: node.end,
          text: kind === "seal" ? removedSealJson(path) : removedTokensJson(path),
        });
    }
    this.#renumber(data, root, splices);
    return splices.length === 0
      ? texts.event.bytes
      : this.#framing.replaceData(texts.event, applySplices(data, splices));
  }

  flush(channel: string, text: string, isEnd: boolean): Buffer | undefined {
    for (const path of pathsOfChannel(channel)) {
      const record = this.#records.get(path);
      const value = record?.valueNumberOf(channel);
      if (record === undefined || value === undefined) continue;
      const written = record.takeSpelling(value, text, isEnd) + (isEnd ? record.end() : "");
      if (record.isChanged && isThought(path)) this.#changedThinkingScopes.add(scopeOf(path));
      if (written === "" || record.template === undefined) return undefined;
      this.#changedScopes.add(scopeOf(path));
      if (this.#sequence >= 0) this.#sequence++;
      const sequence = this.#sequence < 0 ? undefined : this.#sequence;
      const numbers = { sequence, serial: ++this.#insertedFrames };
      const { event, data } = frameOf(this.#dialect, path, record.template, written, numbers);
      return this.#framing.buildEvent(event, data);
    }
    return undefined;
  }

  end(): readonly string[] {
    return this.#closeTexts(new PathPrefixes([""]), new Set());
  }

  /**
   * Returns a template if the event has exactly one text, which continues in later events, and nothing else that is inspected
   * or numbered.
   */
  #templateFrom(reading: Reading): EventTemplate | undefined {
    const { event, spots, pieces, closedChannels: closes, seals, uninspected, root, type } = reading;
    const [spot] = spots;
    if (spot?.node === undefined || root === undefined || spots.length > 1 || pieces.length !== 1) return undefined;
    if (closes.length > 0 || seals.length > 0 || uninspected.length > 0 || this.#closedPaths.length > 0)
      return undefined;
    const { node, path, record } = spot;
    const isKnown =
      this.#dialect === "messages" ? type === "content_block_delta" : memberOf(root, "choices") !== undefined;
    if (spot.isRepeat || record.isWhole || this.#repeatsTexts || this.#framing !== SSE_FRAMING) return undefined;
    const isOnlyText = pieces[0]?.channel === path && pieces[0].isEnd === false && spot.joined < 0;
    if (!isKnown || !isOnlyText || memberOf(root, "sequence_number") !== undefined) return undefined;
    const more = carriesMore(this.#dialect, type, event.data ?? "", root, new Set([node]));
    const padding = memberOf(root, "obfuscation");
    const varying = { text: node, padding: padding?.kind === "string" ? padding : undefined };
    return templateOf(event, varying, { path, record, carriesMore: more });
  }

  /** Drops repeated members. Clients use the last of several members of one name, so only the last is passed on. */
  #withoutDuplicates(event: SseEvent, data: string): SseEvent {
    const once = JSON.stringify(tryParseJson(data));
    return { ...event, data: once, bytes: this.#framing.replaceData(event, once) };
  }

  #readText(event: SseEvent, data: string): Reading {
    const record = new TextRecord("", false, false);
    const spot: Spot = { node: undefined, path: "", text: data, record, first: 0, isRepeat: false, joined: -1 };
    const pieces = data === "" ? NONE : record.read(data, true);
    return {
      ...readingWithoutTexts(event, NONE),
      pieces,
      spots: data === "" ? NONE : [spot],
      root: undefined,
      type: "",
      seals: NONE,
    };
  }

  #readTree(event: SseEvent, data: string, root: JsonNode): Reading {
    const layout = layoutOf(this.#dialect, event.event, data, root, this.#itemIndexes);
    const ended = new PathPrefixes(layout.endedPaths);
    if (this.#dialect === "compat") this.#recordStamp(data, root);
    if (layout.type === "response.created") this.#responseStart ??= data;
    const spots: Spot[] = [];
    const pieces: TextPiece[] = [];
    const uninspected: Media[] = [];
    const seals: Reading["seals"][number][] = [];
    for (const walk of layout.walks) {
      visitStrings(data, walk.node, walk.path, "known", (found) => {
        if (found.kind === "media" || (walk.mode === "media" && found.kind === "text" && isAudioData(found.text))) {
          uninspected.push(found.kind === "media" ? found.media : "audio");
          return;
        }
        if (found.kind === "seal" || found.kind === "tokens") {
          seals.push(found);
          return;
        }
        const { node, text } = found;
        const path = walk.mode === "chunk" ? found.path.replace(CONTENT_PART, "$1") : found.path;
        const isArguments = found.kind === "arguments" || walk.mode === "arguments";
        const isWhole = !isPiece(walk.mode, path);
        const known = this.#records.get(path);
        const isRepeat = isWhole && this.#repeatsTexts && known !== undefined && known.received === text;
        if (isRepeat) {
          spots.push({ node, path, text, record: known, first: pieces.length, isRepeat, joined: -1 });
          return;
        }
        let record = isWhole || known?.isWhole === true ? undefined : known;
        if (record === undefined) {
          // A text that does not continue the pieces at its path gets its own channel.
          record = new TextRecord(path, isArguments, isWhole);
          // While more pieces may follow, their record is kept, and a repetition gets its own record.
          if (!isWhole || (this.#repeatsTexts && known?.mayContinue !== true)) {
            if (known !== undefined) this.#setRecord(`${path}!`, known);
            this.#setRecord(path, record);
          }
        }
        if (record === known) this.#openPaths.add(path);
        if (!isWhole) record.template = { data, start: node.start, event: event.event };
        const isLast = isWhole || ended.covers(path);
        const first = pieces.length;
        for (const piece of record.read(text, isLast, this.#repeatsTexts)) pieces.push(piece);
        const joined = isWhole && walk.mode !== "whole" ? this.#growing.joinWithShown(path, text) : undefined;
        spots.push({ node, path, text, record, first, isRepeat, joined: joined === undefined ? -1 : pieces.length });
        if (joined !== undefined) pieces.push({ channel: `${path}+`, text: joined, isEnd: true });
      });
    }
    const inEvent = new Set(spots.filter((spot) => !spot.isRepeat).map((spot) => spot.record));
    const closes = this.#closeTexts(ended, inEvent);
    return { event, pieces, closedChannels: closes, uninspected, root, type: layout.type, spots, seals };
  }

  #recordStamp(data: string, root: JsonNode): void {
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
      if (isNullOrAbsent(data, memberOf(choice, "finish_reason"))) this.#choices.add(index);
      else this.#choices.delete(index);
    });
  }

  #setRecord(path: string, record: TextRecord): void {
    this.#records.set(path, record);
    this.#openPaths.add(path);
  }

  /** Closes the open texts whose paths begin with one of the prefixes, and returns their channels. */
  #closeTexts(prefixes: PathPrefixes, inEvent: ReadonlySet<TextRecord>): readonly string[] {
    const closes: string[] = [];
    if (prefixes.isEmpty) return closes;
    for (const path of this.#openPaths) {
      if (!prefixes.covers(path)) continue;
      this.#openPaths.delete(path);
      this.#closedPaths.push(path);
      const record = this.#records.get(path);
      const channel = record === undefined || inEvent.has(record) ? undefined : record.close();
      if (channel !== undefined) closes.push(channel);
    }
    return closes;
  }

  #shownText(spot: Spot, reading: Reading, shown: readonly string[]): string {
    if (spot.isRepeat) return spot.record.isChanged ? spot.record.released : spot.text;
    const made = spot.record.takeReplacement(reading.pieces, shown, spot.first, spot.text);
    const joined = reading.pieces[spot.joined];
    if (joined === undefined) return made;
    // A finding within the new text was already applied to it. A finding across the boundary to the earlier text removes it
    // all.
    const seam = this.#growing.shownAt(spot.path);
    return (shown[spot.joined] ?? joined.text).startsWith(seam) ? made : "";
  }

  #markChanged(path: string): void {
    this.#changedScopes.add(scopeOf(path));
    if (isThought(path)) this.#changedThinkingScopes.add(scopeOf(path));
  }

  /** Raises the sequence number by the number of inserted frames. */
  #renumber(data: string, root: JsonNode, splices: Splice[]): void {
    const node = memberOf(root, "sequence_number");
    const number = indexIn(data, node);
    if (node === undefined || number === undefined) return;
    if (number <= this.#sequence) {
      splices.push({ start: node.start, end: node.end, text: String(this.#sequence + 1) });
    }
    this.#sequence = Math.max(number, this.#sequence + (number <= this.#sequence ? 1 : 0));
  }
}

function readingWithoutTexts(
  event: SseEvent,
  uninspected: readonly Media[],
): EventTexts & Omit<Reading, keyof EventTexts> {
  return {
    event,
    pieces: NONE,
    closedChannels: NONE,
    uninspected,
    root: undefined,
    type: "",
    spots: NONE,
    seals: NONE,
  };
}
