/** Tells of a leader that is another than the one known before. */

import { escapeControls } from "../../base/index.ts";

/** To be given each `get_status`. The leader's absence is no change, and neither is the return of the same one. */
export function createLeaderNotes(onNote: (words: string) => void): (status: unknown) => void {
  let known: string | undefined;
  return (status) => {
    const { leader, term } = (status ?? {}) as { readonly leader?: unknown; readonly term?: unknown };
    if (typeof leader !== "string") return;
    if (known !== undefined && known !== leader) onNote(escapeControls(`leader is now ${leader}, term ${term}`));
    known = leader;
  };
}
