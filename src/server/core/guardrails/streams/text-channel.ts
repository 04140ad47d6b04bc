/**
 * One text that arrives in pieces and is released once it is proven that no finding can still extend into it. Source: guardrails
 * reference, 5.3.
 *
 * Detectors are not resumed in the middle: the text is scanned again from a position that no match can cross (a clean cut), so
 * that the same matches are found as in the whole text. Released text back to that position is kept as context, within a limit;
 * a longer run of characters of one reach is cut nevertheless.
 */
import type { DetectorFindings, Judgement } from "../judgement.ts";
import { utf8Length } from "../positions.ts";
import type { Finding } from "../types.ts";
import { boundary, isHigh, tailStart } from "./horizon.ts";
import type { ReachSet } from "./reach-set.ts";

/** Minimum length of released text that is kept for context words and neighbors, in UTF-16 units. */
const CONTEXT = 256;
/** Maximum length of released text that is kept, in UTF-16 units. */
const MAX_CONTEXT = 2_048;
/** Maximum length of text that is processed at once, in UTF-16 units, so that a scan is short. */
const PART = 1_024;
const MAX_DEFAULT_CHUNK = 64;

export interface StreamTerms {
  readonly maxHoldBytes: number;
  readonly onHoldOverflow: "emit" | "buffer";
  readonly liveHorizon: boolean;
  /** Minimum bytes of new text for a scan; `undefined` means the horizon, but at most 64. */
  readonly scanChunkBytes: number | undefined;
  /** Maximum bytes of a channel that is held back until its end. */
  readonly maxBufferBytes: number;
}

/** Value, or a promise of it. The channel must not be used before the promise resolves. */
export type MaybePromise<Value> = Value | Promise<Value>;

interface ChannelPorts {
  readonly reaches: ReachSet;
  /** Scans a text. Returns the findings by detector, or `undefined` if it could not be read; then nothing more is released. */
  readonly scan: (text: string) => MaybePromise<readonly DetectorFindings[] | undefined>;
  /** Judges a stretch that no finding crosses. */
  readonly judge: (stretch: string, found: readonly DetectorFindings[]) => Judgement;
  /**
   * Called once for each run of text that was released although a match may have been in progress. `reach` is the name of the
   * match's reach.
   */
  readonly onUnproven: (reach: string) => void;
  /** Called once if the text exceeds the limit for holding it back until its end; it then continues without being held back. */
  readonly onOversize: () => void;
}

export interface TextChannel {
  /** Adds text. Returns the text that may be shown now; empty after a refusal. */
  readonly push: (text: string) => MaybePromise<string>;
  /** Scans new text that was too short to be scanned so far. */
  readonly scanWaiting: () => MaybePromise<string>;
  /** Scans the rest. Nothing may be pushed after that. */
  readonly end: () => MaybePromise<string>;
  /** True if no scan has seen some of the pushed text. */
  readonly isWaiting: boolean;
  /** True if everything is held back until the end. */
  readonly isBuffering: boolean;
  readonly heldBytes: number;
  /** Judgement that refused the text, after which nothing more is released. */
  readonly refusal: Judgement | undefined;
}

export function createChannel(terms: StreamTerms, ports: ChannelPorts): TextChannel {
  return new Channel(terms, ports);
}

class Channel implements TextChannel {
  readonly #terms: StreamTerms;
  readonly #ports: ChannelPorts;
  readonly #horizon: number;
  readonly #chunk: number;
  /** Text from the last clean cut on. */
  #text = "";
  /** Offset in `#text` up to which it was released. */
  #released = 0;
  /** Number of bytes that no scan has seen. */
  #newBytes = 0;
  /** Offset in `#text` up to which text must be released before its beginning may be dropped. */
  #forgetAt = 2 * CONTEXT;
  /** Number of bytes that are not released. */
  #heldBytes = 0;
  #isOverflowing = false;
  #isBuffering = false;
  #mayBuffer: boolean;
  #isStopped = false;
  #refusal: Judgement | undefined;

  constructor(terms: StreamTerms, ports: ChannelPorts) {
    this.#terms = terms;
    this.#ports = ports;
    this.#horizon = ports.reaches.horizonBytes(terms.maxHoldBytes);
    this.#chunk = terms.scanChunkBytes ?? Math.max(1, Math.min(this.#horizon, MAX_DEFAULT_CHUNK));
    this.#mayBuffer = terms.onHoldOverflow === "buffer";
  }

  get isWaiting(): boolean {
    return !this.#isBuffering && this.#newBytes > 0;
  }

  get isBuffering(): boolean {
    return this.#isBuffering;
  }

  get heldBytes(): number {
    return this.#heldBytes;
  }

  get refusal(): Judgement | undefined {
    return this.#refusal;
  }

  push(text: string): MaybePromise<string> {
    return this.#pushFrom(text, 0, "");
  }

  scanWaiting(): MaybePromise<string> {
    return this.isWaiting ? this.#advance(false) : "";
  }

  end(): MaybePromise<string> {
    return mapMaybePromise(this.#advance(true), (shown) => {
      this.#clear();
      return shown;
    });
  }

  #pushFrom(text: string, from: number, before: string): MaybePromise<string> {
    let shown = before;
    for (let at = from; at < text.length && !this.#isStopped; at += PART) {
      const part = text.length <= PART ? text : text.slice(at, at + PART);
      this.#text += part;
      const bytes = utf8Length(part);
      this.#newBytes += bytes;
      this.#heldBytes += bytes;
      if (!this.#shouldScan()) continue;
      const more = this.#advance(false);
      if (more instanceof Promise) return more.then((now) => this.#pushFrom(text, at + PART, shown + now));
      shown += more;
    }
    return shown;
  }

  #shouldScan(): boolean {
    if (!this.#isBuffering) return this.#newBytes >= this.#chunk;
    if (this.#heldBytes <= this.#terms.maxBufferBytes) return false;
    this.#mayBuffer = false;
    this.#isBuffering = false;
    this.#ports.onOversize();
    return true;
  }

  #advance(isEnd: boolean): MaybePromise<string> {
    if (this.#isStopped || (this.#isBuffering && !isEnd)) return "";
    const text = this.#text;
    this.#newBytes = 0;
    if (this.#released === text.length) return "";
    const least = isEnd ? text.length : boundary(text, tailStart(text, this.#terms.maxHoldBytes));
    const proven = isEnd ? text.length : this.#provenEnd(text);
    // No further text can be released, whatever a scan would find.
    if (Math.max(proven, least) <= this.#released) return "";
    return mapMaybePromise(this.#ports.scan(text), (found) =>
      found === undefined ? this.#stop() : this.#release(found, proven, least, isEnd),
    );
  }

  #release(found: readonly DetectorFindings[], proven: number, least: number, isEnd: boolean): string {
    const text = this.#text;
    const safe = isEnd ? text.length : this.#releasableEnd(found, proven, least);
    if (safe <= this.#released) return "";
    const stretch = text.slice(this.#released, safe);
    const judgement = this.#ports.judge(stretch, clipFindings(found, this.#released, safe));
    if (judgement.outcome !== "allow") {
      this.#refusal = judgement;
      return this.#stop();
    }
    this.#released = safe;
    this.#heldBytes = utf8Length(text.slice(safe));
    if (!isEnd) this.#dropOldText();
    return judgement.rewrites[0]?.text ?? stretch;
  }

  #stop(): string {
    this.#isStopped = true;
    this.#clear();
    return "";
  }

  #clear(): void {
    this.#text = "";
    this.#released = 0;
    this.#newBytes = 0;
    this.#heldBytes = 0;
  }

  /** Returns the offset up to which no match is in progress. */
  #provenEnd(text: string): number {
    const { liveHorizon } = this.#terms;
    const pending = this.#ports.reaches.pendingFrom(text);
    // The other half of a surrogate pair may arrive with the next piece.
    const whole = isHigh(text.charCodeAt(text.length - 1)) ? text.length - 1 : text.length;
    return Math.min(pending, liveHorizon ? whole : tailStart(text, this.#horizon));
  }

  /** Returns the offset up to which the text may be released, because it is proven or must not be held back any longer. */
  #releasableEnd(found: readonly DetectorFindings[], proven: number, least: number): number {
    const safe = beforeOverlaps(found, proven);
    if (safe >= least) {
      if (safe >= this.#released) this.#isOverflowing = false;
      return safe;
    }
    if (this.#mayBuffer) {
      this.#isBuffering = true;
      return this.#released;
    }
    if (least > this.#released) {
      if (!this.#isOverflowing) this.#ports.onUnproven(this.#ports.reaches.pendingReachName(this.#text, proven));
      this.#isOverflowing = true;
    }
    return Math.max(least, this.#released);
  }

  /** Drops released text that can no longer contribute to a finding. */
  #dropOldText(): void {
    if (this.#released < this.#forgetAt) return;
    const last = this.#released - CONTEXT;
    const clean = this.#ports.reaches.cleanCut(this.#text, last, this.#released) ?? 0;
    const cut = this.#released - clean > MAX_CONTEXT ? boundary(this.#text, last) : clean;
    this.#text = this.#text.slice(cut);
    this.#released -= cut;
    this.#forgetAt = Math.max(2 * CONTEXT, this.#released + CONTEXT / 2);
  }
}

/** Applies `make` to the value, synchronously if the value is not a promise. */
export const mapMaybePromise = <Value, Made>(
  value: MaybePromise<Value>,
  make: (value: Value) => MaybePromise<Made>,
): MaybePromise<Made> => (value instanceof Promise ? value.then(make) : make(value));

/** Returns the position moved back until no finding crosses it, since overlapping findings are decided together. */
function beforeOverlaps(found: readonly DetectorFindings[], place: number): number {
  let safe = place;
  for (let before = -1; before !== safe; ) {
    before = safe;
    for (const { findings } of found) {
      for (const { start, end } of findings[0] ?? NOTHING) if (start < safe && safe < end) safe = start;
    }
  }
  return safe;
}

const NOTHING: readonly Finding[] = [];

/** Returns whether nothing was found in the single text. */
const isWithoutFindings = (found: readonly DetectorFindings[]): boolean =>
  found.every(({ findings }) => findings.length === 1 && findings[0]?.length === 0);

/**
 * Returns the findings in a stretch, with positions relative to it. For a finding that begins in text released without proof,
 * only the rest is reported.
 */
function clipFindings(found: readonly DetectorFindings[], from: number, to: number): readonly DetectorFindings[] {
  if (isWithoutFindings(found)) return found;
  return found.map(({ detector, mode, findings }) => {
    const inside: Finding[] = [];
    for (const finding of findings[0] ?? NOTHING) {
      const start = Math.max(finding.start, from);
      const end = Math.min(finding.end, to);
      if (start < end) inside.push({ ...finding, start: start - from, end: end - from });
    }
    return { detector, mode, findings: [inside] };
  });
}
