/**
 * Inspects texts that an agent streams message by message. Clients join them, so each text is inspected once more together with
 * the text shown at its place before. If a rule rewrites a finding across the seam, the new text is left out, because the client
 * already has the earlier text. Source: a2a reference, 1 (`append`); design decisions, section 11.
 */
import type { JudgedAnswer, Segment } from "../core/guardrails/index.ts";
import { type MaybePromise, mapMaybePromise } from "../core/guardrails/index.ts";

/** Maximum length of the previous text, and of the new one, that are inspected together, in UTF-16 units. */
const MAX_JOINED = 512;
/** Maximum number of texts of a message that are remembered. */
const MAX_TEXTS = 64;

export class JoinedMessages {
  /** Ends of the shown texts, by the place of the text in its message. */
  readonly #shown: string[] = [];

  /**
   * Returns the new text of each segment, or `undefined` for a segment that does not change. Returns `undefined` instead of a
   * list if the answer is refused.
   */
  inspect(
    answer: Pick<JudgedAnswer, "message">,
    segments: readonly Segment[],
  ): MaybePromise<readonly (string | undefined)[] | undefined> {
    const joined = segments.flatMap((segment, at) => {
      const before = this.#before(at);
      // Only output is streamed in parts; a server's answer to a call arrives whole.
      if (segment.kind !== "output" || segment.isReadOnly || before === "") return [];
      return [{ at, seam: before.length, segment: { ...segment, text: before + segment.text.slice(0, MAX_JOINED) } }];
    });
    const all = joined.length === 0 ? segments : [...segments, ...joined.map(({ segment }) => segment)];
    return mapMaybePromise(answer.message(all), (made) => {
      if (made === undefined) return undefined;
      const crossed = new Set(
        joined.flatMap(({ at, seam }, i) => {
          const edits = made[segments.length + i]?.edits ?? [];
          // A finding within the new text alone was already handled there.
          return edits.some(({ start, end }) => start < seam && end > seam) ? [at] : [];
        }),
      );
      return segments.map(({ kind, text }, at) => {
        const change = crossed.has(at) ? "" : made[at]?.text;
        if (kind === "output") this.#remember(at, change ?? text);
        return change;
      });
    });
  }

  #before(at: number): string {
    return this.#shown[at] ?? this.#shown.at(-1) ?? "";
  }

  #remember(at: number, shown: string): void {
    if (at < MAX_TEXTS) this.#shown[at] = (this.#before(at) + shown).slice(-MAX_JOINED);
  }
}
