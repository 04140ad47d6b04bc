/** State of one string of a stream: the text read and shown so far, and whether the two differ. */
import { type ArgumentPart, ArgumentText } from "./arguments.ts";
import type { FrameTemplate } from "./text-frames.ts";

interface Piece {
  readonly channel: string;
  readonly text: string;
  readonly isEnd: boolean;
}

/** Returns the paths at which the text of a channel may be recorded, the likelier ones first. */
export function pathsOfChannel(channel: string): readonly string[] {
  const paths = [channel, channel.slice(0, channel.lastIndexOf("#"))].map((path) => path.replace(/=$/, ""));
  return [...paths, ...paths.map((path) => `${path}!`)];
}

export class TextRecord {
  readonly #path: string;
  readonly #arguments: ArgumentText | undefined;
  /** Fragments that were read and not shown yet. */
  readonly #fragments: { readonly parts: readonly ArgumentPart[]; readonly isLast: boolean }[] = [];
  #isOpen = false;
  /** Text that was read and not shown yet, kept while nothing was changed. */
  #pending = "";
  #isChanged = false;
  readonly isWhole: boolean;
  /** Whether more of the text may follow. */
  mayContinue = false;
  /** Text that was read; empty if it is not kept. */
  received = "";
  /** Text that was shown; kept under the same condition as `received`. */
  released = "";
  /** Last frame with a part of the text. */
  template: FrameTemplate | undefined;

  /**
   * Creates the state of a text. `isWhole` is true if the text came in one event instead of pieces; its channel then differs
   * from that of the pieces.
   */
  constructor(path: string, isArguments: boolean, isWhole: boolean) {
    this.#path = isWhole ? `${path}=` : path;
    this.isWhole = isWhole;
    this.#arguments = isArguments ? new ArgumentText() : undefined;
  }

  /** True if the text was shown differently from how it arrived. */
  get isChanged(): boolean {
    return this.#isChanged;
  }

  get heldUnits(): number {
    // An empty record takes about a hundred bytes.
    return 100 + this.#pending.length + this.received.length + this.released.length + (this.#arguments?.heldUnits ?? 0);
  }

  /**
   * Reads the next fragment. `isLast` marks the last one; `keepsText` keeps the text because a later event may repeat it. Of
   * arguments that are sent cumulatively, only what is new is read, so that each text is inspected and shown once.
   */
  read(fragment: string, isLast: boolean, keepsText = false): readonly Piece[] {
    const text = this.#arguments?.newPart(fragment) ?? fragment;
    if (keepsText) this.received += text;
    this.mayContinue = !isLast;
    this.#pending += this.#isChanged ? "" : text;
    if (this.#arguments === undefined) {
      this.#fragments.push({ parts: [], isLast });
      this.#isOpen = !isLast;
      return [{ channel: this.#path, text, isEnd: isLast }];
    }
    let parts = this.#arguments.push(text);
    const last = parts.at(-1);
    const open = isLast ? this.#arguments.openValue : undefined;
    if (open !== undefined && last?.kind === "text") parts = [...parts.slice(0, -1), { ...last, isEnd: true }];
    else if (open !== undefined) parts = [...parts, { kind: "text", value: open, text: "", isEnd: true }];
    this.#fragments.push({ parts, isLast });
    return parts.flatMap((part) =>
      part.kind === "raw" ? [] : [{ channel: this.#channel(part.value), text: part.text, isEnd: part.isEnd }],
    );
  }

  /**
   * Returns the replacement of the oldest fragment that was not shown yet. `shown`, from index `first` on, has the texts of its
   * pieces.
   */
  takeReplacement(pieces: readonly Piece[], shown: readonly string[], first: number, text: string): string {
    const { parts, isLast } = this.#fragments.shift() ?? { parts: [], isLast: false };
    let made = "";
    if (this.#arguments === undefined) {
      made = shown[first] ?? pieces[first]?.text ?? text;
    } else {
      let at = first;
      for (const part of parts) {
        if (part.kind === "raw") made += part.raw;
        else made += this.#arguments.takeSpelling(part.value, shown[at++] ?? "", part.isEnd);
      }
      if (isLast) made += this.#arguments.end();
    }
    this.#recordShown(made);
    if (isLast && this.#pending !== "") this.#isChanged = true;
    return made;
  }

  /**
   * Returns the number of the value that a channel of this text carries, or `undefined` if the channel belongs to another text.
   */
  valueNumberOf(channel: string): number | undefined {
    if (this.#arguments === undefined) return channel === this.#path ? 0 : undefined;
    if (!channel.startsWith(`${this.#path}#`)) return undefined;
    const value = Number(channel.slice(this.#path.length + 1));
    return Number.isInteger(value) ? value : undefined;
  }

  /** Returns the text as it is written in a separate frame. */
  takeSpelling(value: number, text: string, isEnd: boolean): string {
    const written = this.#arguments === undefined ? text : this.#arguments.takeSpelling(value, text, isEnd);
    this.#recordShown(written);
    return written;
  }

  /** Ends the arguments. Returns an escape sequence that was never completed. */
  end(): string {
    const rest = this.#arguments?.end() ?? "";
    this.#recordShown(rest);
    if (this.#pending !== "") this.#isChanged = true;
    return rest;
  }

  /** Closes the text. Returns its channel if it was still open. */
  close(): string | undefined {
    this.mayContinue = false;
    const open = this.#arguments?.openValue;
    if (open !== undefined) return this.#channel(open);
    const wasOpen = this.#isOpen;
    this.#isOpen = false;
    return wasOpen ? this.#path : undefined;
  }

  #channel(value: number): string {
    return `${this.#path}#${value}`;
  }

  #recordShown(made: string): void {
    // Buffered text grows piece by piece and is not compared before some of it is shown.
    if (made === "") return;
    if (this.received !== "") this.released += made;
    if (this.#isChanged) return;
    if (this.#pending.startsWith(made)) this.#pending = this.#pending.slice(made.length);
    else {
      this.#isChanged = true;
      this.#pending = "";
    }
  }
}
