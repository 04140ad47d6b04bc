/**
 * Packed records of requests: fixed-width rows in a buffer, and each text stored once. A chunk can be sent unchanged to another
 * process or node.
 */
import { DIALECTS, FACT, type RecordedRequest, TRAFFIC } from "./recorded-request.ts";

/** Maximum rows of a chunk. */
export const CHUNK_ROWS = 1_000;
/** Maximum length of a kept name, in UTF-16 units. */
const MAX_NAME = 256;
/** Maximum length of the text of a caller or of findings, in UTF-16 units. */
const MAX_TEXT = 4_096;
const FIRST_ROWS = 16;
/** Estimated memory of a text besides its characters: header, list entry and index entry. */
const TEXT_BYTES = 64;

const ID_BYTES = 36;
/** Marks a row whose id is stored as a text. */
const LONG_ID = 255;

const AT = {
  at: 0,
  units: 8,
  least: 16,
  most: 24,
  totalMs: 32,
  bodyBytes: 36,
  facts: 40,
  texts: 44,
  status: 72,
  attempts: 74,
  traffic: 75,
  dialect: 76,
  idLength: 77,
  id: 78,
} as const;
const ROW_BYTES = 116;

const TEXTS = [
  "configuration",
  "caller",
  "route",
  "model",
  "routed",
  "to",
  "provider",
  "method",
  "name",
  "role",
  "code",
  "by",
  "acted",
  "findings",
] as const satisfies readonly (keyof RecordedRequest)[];

/** Fields that would change their meaning if cut; one that is too long is left out. */
const WHOLE: ReadonlySet<string> = new Set(["caller", "findings"]);

/** Packed chunk as it is sent: everything but `rows` is ready for JSON. */
export interface PackedChunk {
  readonly count: number;
  readonly rows: Uint8Array;
  readonly texts: readonly string[];
}

/** Chunk that is written to until it is full. Rows are in the order in which requests ended. */
export class RecordChunk {
  #rows: Buffer = Buffer.alloc(FIRST_ROWS * ROW_BYTES);
  #view = viewOf(this.#rows);
  #texts: string[] = [""];
  #places = new Map<string, number>([["", 0]]);
  /** Texts of the last added request, by field. */
  readonly #lastTexts: string[] = TEXTS.map(() => "");
  readonly #lastPlaces: number[] = TEXTS.map(() => 0);
  #textBytes = 0;
  #count = 0;
  /** Earliest arrival of its requests, in milliseconds since 1970. */
  earliest = Number.POSITIVE_INFINITY;
  /** Latest arrival of its requests, in milliseconds since 1970. */
  latest = Number.NEGATIVE_INFINITY;

  /** Creates a sealed chunk from data of another process. Throws `RangeError` if the data is not a chunk. */
  static of({ count, rows, texts }: PackedChunk): RecordChunk {
    if (rows.byteLength < count * ROW_BYTES) throw new RangeError(TOO_SHORT);
    const chunk = new RecordChunk();
    chunk.#rows = Buffer.from(rows.buffer, rows.byteOffset, count * ROW_BYTES);
    chunk.#texts = [...texts];
    chunk.#textBytes = texts.reduce((sum, text) => sum + text.length + TEXT_BYTES, 0);
    chunk.#count = count;
    for (let row = 0; row < count; row++) chunk.#notice(chunk.#rows.readDoubleLE(row * ROW_BYTES + AT.at));
    chunk.#places = new Map();
    return chunk;
  }

  get count(): number {
    return this.#count;
  }

  get isFull(): boolean {
    return this.#count >= CHUNK_ROWS;
  }

  /** Estimated memory, in bytes. */
  get bytes(): number {
    return this.#rows.length + this.#textBytes;
  }

  add(request: RecordedRequest): void {
    if ((this.#count + 1) * ROW_BYTES > this.#rows.length) this.#grow();
    const rows = this.#rows;
    const view = this.#view;
    const start = this.#count * ROW_BYTES;
    let { facts } = request;
    for (let i = 0; i < TEXTS.length; i++) {
      const field = TEXTS[i] as (typeof TEXTS)[number];
      let text = request[field];
      // The text is usually the same string object as in the previous request, which is fast to compare.
      if (text === this.#lastTexts[i]) {
        view.setUint16(start + AT.texts + 2 * i, this.#lastPlaces[i] as number, true);
        continue;
      }
      const isWhole = WHOLE.has(field);
      if (text.length > (isWhole ? MAX_TEXT : MAX_NAME)) {
        facts |= field === "findings" ? FACT.findingsCut : FACT.isCut;
        text = isWhole ? "" : text.slice(0, MAX_NAME);
      }
      const place = this.#placeOf(text);
      view.setUint16(start + AT.texts + 2 * i, place, true);
      if (text === request[field]) {
        this.#lastTexts[i] = text;
        this.#lastPlaces[i] = place;
      }
    }
    view.setFloat64(start + AT.at, request.at, true);
    view.setFloat64(start + AT.units, request.units, true);
    view.setFloat64(start + AT.least, request.least, true);
    view.setFloat64(start + AT.most, request.most, true);
    view.setUint32(start + AT.totalMs, whole(request.totalMs), true);
    view.setUint32(start + AT.bodyBytes, whole(request.bodyBytes), true);
    view.setUint32(start + AT.facts, facts >>> 0, true);
    view.setUint16(start + AT.status, request.status, true);
    rows[start + AT.attempts] = Math.min(255, request.attempts);
    rows[start + AT.traffic] = TRAFFIC.indexOf(request.traffic);
    rows[start + AT.dialect] = DIALECTS.indexOf(request.dialect);
    this.#writeId(start, request.id);
    this.#count += 1;
    this.#notice(request.at);
  }

  /** Ends writing and frees the index of texts. */
  seal(): void {
    this.#rows = Buffer.from(this.#rows.subarray(0, this.#count * ROW_BYTES));
    this.#places = new Map();
  }

  pack(): PackedChunk {
    return {
      count: this.#count,
      rows: this.#rows.subarray(0, this.#count * ROW_BYTES),
      texts: this.#texts,
    };
  }

  #notice(at: number): void {
    if (at < this.earliest) this.earliest = at;
    if (at > this.latest) this.latest = at;
  }

  #writeId(start: number, id: string): void {
    if (id.length <= ID_BYTES) {
      this.#rows[start + AT.idLength] = id.length;
      this.#rows.write(id, start + AT.id, ID_BYTES, "latin1");
      return;
    }
    this.#rows[start + AT.idLength] = LONG_ID;
    this.#rows.writeUInt32LE(this.#addText(id), start + AT.id);
  }

  #placeOf(text: string): number {
    return this.#places.get(text) ?? this.#addText(text);
  }

  #addText(text: string): number {
    const place = this.#texts.length;
    // The text is copied, since it may be a slice that would keep a long string in memory.
    const own = text.length > 12 ? Buffer.from(text).toString() : text;
    this.#texts.push(own);
    this.#places.set(own, place);
    this.#textBytes += own.length + TEXT_BYTES;
    return place;
  }

  #grow(): void {
    const grown = Buffer.alloc(Math.min(CHUNK_ROWS * ROW_BYTES, 4 * this.#rows.length));
    this.#rows.copy(grown);
    this.#rows = grown;
    this.#view = viewOf(grown);
  }
}

/** Returns a `DataView` of the rows: V8 compiles its writes to plain stores, but writes of a `Buffer` to calls. */
const viewOf = ({ buffer, byteOffset, length }: Buffer): DataView => new DataView(buffer, byteOffset, length);

const TOO_SHORT = "a chunk of records is too short";

const whole = (value: number): number => Math.min(0xffff_ffff, Math.max(0, Math.round(value)));

/** Reads the rows of a chunk one by one. Throws `RangeError` if data from elsewhere is not a chunk. */
export function* unpack({ count, rows, texts }: PackedChunk): Generator<RecordedRequest> {
  const bytes = Buffer.from(rows.buffer, rows.byteOffset, rows.byteLength);
  if (bytes.length < count * ROW_BYTES) throw new RangeError(TOO_SHORT);
  for (let row = 0; row < count; row++) {
    const start = row * ROW_BYTES;
    const text = (field: (typeof TEXTS)[number]): string =>
      texts[bytes.readUInt16LE(start + AT.texts + 2 * TEXTS.indexOf(field))] ?? "";
    const idLength = bytes[start + AT.idLength] as number;
    yield {
      at: bytes.readDoubleLE(start + AT.at),
      totalMs: bytes.readUInt32LE(start + AT.totalMs),
      id:
        idLength === LONG_ID
          ? (texts[bytes.readUInt32LE(start + AT.id)] ?? "")
          : bytes.toString("latin1", start + AT.id, start + AT.id + Math.min(idLength, ID_BYTES)),
      configuration: text("configuration"),
      traffic: TRAFFIC[bytes[start + AT.traffic] as number] ?? "none",
      dialect: DIALECTS[bytes[start + AT.dialect] as number] ?? "",
      facts: bytes.readUInt32LE(start + AT.facts),
      caller: text("caller"),
      route: text("route"),
      model: text("model"),
      routed: text("routed"),
      to: text("to"),
      provider: text("provider"),
      method: text("method"),
      name: text("name"),
      role: text("role"),
      status: bytes.readUInt16LE(start + AT.status),
      code: text("code"),
      by: text("by"),
      acted: text("acted"),
      findings: text("findings"),
      attempts: bytes[start + AT.attempts] as number,
      bodyBytes: bytes.readUInt32LE(start + AT.bodyBytes),
      units: bytes.readDoubleLE(start + AT.units),
      least: bytes.readDoubleLE(start + AT.least),
      most: bytes.readDoubleLE(start + AT.most),
    };
  }
}
