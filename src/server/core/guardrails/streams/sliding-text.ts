/**
 * One text that arrives in pieces, for detectors without a bounded reach, such as judge models and classifiers. The text is not
 * held back for them, since they can never prove a part of it: they read a sliding window repeatedly, and the rest at the end.
 * Source: guardrails reference, 5.3.
 */

import type { DetectorFindings } from "../judgement.ts";
import { utf8Length } from "../positions.ts";
import type { Finding } from "../types.ts";
import { boundary } from "./horizon.ts";
import type { MaybePromise } from "./text-channel.ts";

/** Size of the window, in UTF-16 units. */
const SLIDE = 4_096;
/** Minimum bytes of new text for another reading. */
const MIN_CHUNK = 256;

interface SlidePorts {
  /** Scans a window. Returns `undefined` if the text could not be read. */
  readonly scan: (text: string) => MaybePromise<readonly DetectorFindings[] | undefined>;
  /** Judges new findings in the text. */
  readonly judge: (text: string, found: readonly DetectorFindings[]) => void;
}

export interface Slide {
  readonly push: (text: string) => void;
  /** Reads the rest of the text. Nothing may be pushed after that. */
  readonly end: () => MaybePromise<void>;
  readonly heldBytes: number;
}

export function createSlide(scanChunkBytes: number | undefined, ports: SlidePorts): Slide {
  return new Sliding(Math.max(scanChunkBytes ?? MIN_CHUNK, MIN_CHUNK), ports);
}

class Sliding implements Slide {
  readonly #chunk: number;
  readonly #ports: SlidePorts;
  #text = "";
  /** Offset in `#text` up to which everything was read. */
  #read = 0;
  #hasEnded = false;
  #reading: Promise<void> | undefined;
  /** Best judged score, by detector and label. */
  readonly #best = new Map<string, number>();

  constructor(chunk: number, ports: SlidePorts) {
    this.#chunk = chunk;
    this.#ports = ports;
  }

  get heldBytes(): number {
    return 2 * this.#text.length;
  }

  push(text: string): void {
    if (this.#hasEnded) return;
    this.#text += text;
    if (this.#reading === undefined && this.#isDue()) this.#readWindow();
  }

  end(): MaybePromise<void> {
    while (!this.#hasEnded && this.#reading === undefined && this.#read < this.#text.length) this.#readWindow();
    const reading = this.#pending();
    if (reading !== undefined) return reading.then(() => this.end());
    this.#hasEnded = true;
    this.#text = "";
    return undefined;
  }

  #pending(): Promise<void> | undefined {
    return this.#reading;
  }

  #isDue(): boolean {
    return !this.#hasEnded && utf8Length(this.#text.slice(this.#read)) >= this.#chunk;
  }

  /** Runs one reading at a time; text that arrives meanwhile waits for the next. */
  #readWindow(): void {
    // Text that arrived during a long reading is read in several windows, so that none is skipped.
    const start = boundary(this.#text, Math.max(0, Math.min(this.#read, this.#text.length) - SLIDE / 2));
    const end = boundary(this.#text, Math.min(this.#text.length, start + SLIDE));
    const text = this.#text.slice(start, end);
    const before = this.#read - start;
    this.#read = end;
    this.#text = this.#text.slice(start);
    this.#read -= start;
    const found = this.#ports.scan(text);
    if (!(found instanceof Promise)) {
      this.#judge(text, found, before);
      if (this.#isDue()) this.#readWindow();
      return;
    }
    this.#reading = found.then((later) => {
      this.#reading = undefined;
      this.#judge(text, later, before);
      if (this.#isDue()) this.#readWindow();
    });
  }

  #judge(text: string, found: readonly DetectorFindings[] | undefined, before: number): void {
    if (found === undefined) {
      this.#hasEnded = true;
      this.#text = "";
      return;
    }
    this.#ports.judge(
      text,
      found.map(({ detector, mode, findings: [all = []] }) => ({
        detector,
        mode,
        findings: [all.filter((finding) => this.#isNew(detector, finding, before))],
      })),
    );
  }

  /** Returns whether a finding is new. A verdict on the whole text is repeated with each reading of the text. */
  #isNew(detector: string, { start, label, score }: Finding, before: number): boolean {
    const name = `${detector}/${label}`;
    const best = this.#best.get(name);
    if (start < before && best !== undefined && score <= best) return false;
    this.#best.set(name, Math.max(best ?? 0, score));
    return true;
  }
}
