/**
 * Faults and quirks that the name of a server or an agent selects: the delivery faults of model names, and quirks of
 * the protocols, as a table. A plus joins them (`/mcp/sim-stream+cr`). An unknown name that begins with `sim-` is
 * refused, so that a mistyped fault does not look like a healthy server. Any other name is that of a healthy server.
 */

import { type Fault, matchFault } from "../fault-table.ts";
import { partsOf } from "../match-model-name.ts";

export type Protocol = "mcp" | "a2a";

export const QUIRKS = [
  quirk("both", "malformed", "answers with JSON that breaks off"),
  quirk("both", "other-id", "answers with another id than that of the request"),
  quirk("both", "no-answer", "ends without an answer: the stream ends after the notifications, or the body is `{}`"),
  quirk("both", "twice", "ends a stream with its answer twice"),
  quirk("both", "bom", "begins a body, or a stream, with a byte order mark"),
  quirk("both", "cr", "ends the lines of a stream with CR alone"),
  quirk("both", "crlf", "ends the lines of a stream with CR and LF"),
  quirk("both", "split", "writes the data of an event on two lines, in pieces of seven bytes"),
  quirk("both", "bad-utf8", "puts an invalid UTF-8 byte before a text"),
  quirk("both", "deep", "nests a member of the result 5000 levels deep"),
  quirk("both", "html", "declares its answer as text/html"),
  quirk("both", "leak", "answers with an error that repeats the credential it was sent"),
  quirk("mcp", "stream", "streams every answer"),
  quirk("mcp", "old-session", "uses an earlier revision with sessions: answers only after `initialize`"),
  quirk("mcp", "old-result", "uses an earlier revision that ignores the version: results have no `resultType`"),
  quirk("mcp", "tool-error", "every tool fails: `isError` in the result"),
  quirk("mcp", "list-changes", "each list of tools differs from the previous one, and listeners are notified"),
  quirk("mcp", "shared", "lists may be shared for a minute: `cacheScope` is `public`"),
  quirk("mcp", "paged", "lists one entry per page"),
  quirk("mcp", "poison", "the description of a tool tells its reader to do something else"),
  quirk("a2a", "old", "uses A2A 0.3: card, methods and errors"),
  quirk("a2a", "old-result", "answers like A2A 0.3: with `kind`, and without wrappers"),
  quirk("a2a", "fail", "every task fails"),
  quirk("a2a", "reject", "every task is rejected"),
  quirk("a2a", "auth", "every task waits for authentication, which never comes"),
  quirk("a2a", "signed", "its card is signed"),
  quirk("a2a", "tampered", "its card was changed after it was signed"),
  quirk("a2a", "extended", "has an extended card"),
  quirk("a2a", "elsewhere", "its card names an address that is not its own"),
  quirk("a2a", "redirect", "the address of its card redirects"),
  quirk("a2a", "big-card", "its card has a description of two MiB"),
] as const;

export type AgentQuirk = (typeof QUIRKS)[number]["kind"];

export interface AgentDeviations {
  readonly fault: Fault;
  readonly quirks: ReadonlySet<AgentQuirk>;
}

const HEALTHY: AgentDeviations = { fault: { kind: "none" }, quirks: new Set() };

/**
 * Returns what a name selects; `undefined` if it begins with `sim-` and is unknown. `name` is untrusted input of any
 * length.
 */
export function deviationsOf(protocol: Protocol, name: string): AgentDeviations | undefined {
  if (!name.startsWith("sim-")) return HEALTHY;
  let { fault } = HEALTHY;
  const quirks = new Set<AgentQuirk>();
  for (const part of partsOf(name)) {
    const row = QUIRKS.find(({ of, kind }) => part === `sim-${kind}` && (of === "both" || of === protocol));
    const found = row === undefined ? matchFault(part) : undefined;
    if (row !== undefined) quirks.add(row.kind);
    else if (found?.kind !== "made") return undefined;
    else if (fault.kind === "none") fault = found.made;
  }
  return { fault, quirks };
}

function quirk<Kind extends string>(of: Protocol | "both", kind: Kind, effect: string) {
  return { of, kind, name: `sim-${kind}`, effect } as const;
}
