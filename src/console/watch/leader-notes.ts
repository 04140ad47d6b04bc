/** Notes about a change of the leader. */

import { escapeControls } from "../../base/index.ts";

/**
 * Returns a function that takes each `get_status`. Neither the leader's absence nor the return of the same leader counts as a
 * change.
 */
export function createLeaderNotes(onNote: (text: string) => void): (status: unknown) => void {
  let known: string | undefined;
  return (status) => {
    const { leader, term } = (status ?? {}) as { readonly leader?: unknown; readonly term?: unknown };
    if (typeof leader !== "string") return;
    if (known !== undefined && known !== leader) onNote(escapeControls(`leader is now ${leader}, term ${term}`));
    known = leader;
  };
}
