/**
 * Advice for each kind of alert: what to do, the keys of the console, and a command line for a shell. A kind without an entry
 * has its remedy in its text.
 */

import { quoted } from "../format/command-line.ts";
import type { AttentionItem } from "./attention-item.ts";
import { NOT_GRANTED } from "./budgets-bucket.ts";
import { suspensionId } from "./suspensions.ts";

export interface Advice {
  /** Imperative, without a full stop. */
  readonly todo: string;
  /** Keys of the overview that lead there; empty if Enter alone does. */
  readonly keys: string;
  /** Command that shows the cause or does it. Words in capitals are to be replaced. */
  readonly command: string;
}

type Text = string | ((item: AttentionItem) => string);

interface Entry {
  readonly todo: Text;
  readonly keys: Text;
  readonly command: Text;
}

/** Returns whether all requests of a budget were refused because no leader granted units, whatever is left of it. */
const isWithoutGrant = ({ text }: AttentionItem): boolean => text.includes(`: ${NOT_GRANTED}`);

const BY_WHAT: Readonly<Record<string, Entry>> = {
  FAIL: {
    todo: "find out why it fails, then suspend it until it works",
    keys: "Enter shows its failures, s suspends it",
    command: failingCommand,
  },
  NOBODY: {
    todo: "lift the suspension of a provider that serves it, or give its provider a `failover` list",
    keys: "",
    command: "gateway get suspensions",
  },
  LEADER: {
    todo: "start the silent members; if most of them are lost for good, recover the node with the newest log",
    keys: "Enter shows the members, H then explains recovery",
    command: "gateway help cluster recover",
  },
  MEMBER: {
    todo: "start it again, and it catches up; if it is lost for good, add another node, then remove this one",
    keys: "Enter, then X removes it",
    command: "gateway get cluster_members -nodes all",
  },
  NODE: {
    todo: (item) =>
      lacksDocument(item) ? "apply a deployment document, which says what to serve" : "read the log of the node",
    keys: (item) => (lacksDocument(item) ? "Enter, then n adds one from a file" : ""),
    command: (item) =>
      lacksDocument(item) ? "gateway config apply DEPLOYMENT_FILE" : "gateway wait ready -timeout 2m",
  },
  WORKERS: {
    todo: ({ text }) =>
      text.endsWith("SIGKILL")
        ? "run `dmesg` on the node: if memory ran out, add some, or lower GATEWAY_WORKERS or GATEWAY_MAX_BUFFERED_BYTES"
        : "read the log of the node, which says why they ended",
    keys: "",
    command: "gateway admin status",
  },
  CONFIG: {
    todo: "correct the document, or go back to an earlier revision",
    keys: "Enter, then E edits it",
    command: "gateway config history",
  },
  SOURCE: {
    todo: "correct the document, or go back to an earlier revision",
    keys: "Enter, then E edits it",
    command: "gateway config history",
  },
  CERT: {
    todo: ({ json }) =>
      /^https?:/.test(textAt(json, "source") ?? "")
        ? "see why it was not renewed: Enter shows the last error, and when it is tried again"
        : "put a new certificate and key in place of the old files: they are read within seconds, without a restart",
    keys: "",
    command: "gateway get certificates -nodes all",
  },
  AUDIT: {
    todo: "export the trail of the node, and verify it against the witnessed heads; if the node was replaced, acknowledge the alert",
    keys: "",
    command: "gateway audit verify -heads HEADS FILE",
  },
  REFUSES: {
    todo: (item) =>
      isWithoutGrant(item)
        ? "see whether the members reach a leader; the requests are served again as soon as it answers"
        : "let the clients send a smaller max_tokens, or raise the limit, which counts from the next request",
    keys: "Enter, then f shows its keys",
    command: (item) =>
      isWithoutGrant(item)
        ? "gateway get cluster_members -nodes all"
        : "gateway get refusals -nodes all -where cause=budget",
  },
  SPENT: {
    todo: "wait until it resets, raise the limit, or suspend the key that uses it up",
    keys: "Enter, then f shows its keys",
    command: "gateway get budgets -sort -used",
  },
  HOT: {
    todo: "see who uses it, before it is spent",
    keys: "Enter, then f shows its keys",
    command: "gateway get budgets -sort -used",
  },
  REFUSED: {
    todo: ({ kind }) =>
      kind === "failure"
        ? "repair what failed: the command names it for the last request, and the log of the node says why"
        : "see what refused the last request, and whether that is meant",
    keys: "l shows the requests",
    command: refusedCommand,
  },
  BREACH: {
    todo: "look for other users of the provider's key, and for days before the gateway metered it",
    keys: "",
    command: 'gateway query "select * from reconcile_verdicts where breach = 1"',
  },
  REPORT: {
    todo: "check the address and the `admin_key` of the report",
    keys: "",
    command: "gateway check -config NODE_FILE",
  },
  SUSP: {
    todo: "lift it once its reason is gone",
    keys: "u lifts it",
    command: ({ lifts }) => (lifts === undefined ? "" : `gateway lift ${quoted(suspensionId(lifts))}`),
  },
};

/** Returns the advice, or `undefined` if the text of the alert has all of it. */
export function adviceOf(item: AttentionItem): Advice | undefined {
  const entry = Object.hasOwn(BY_WHAT, item.what) ? BY_WHAT[item.what] : undefined;
  if (entry === undefined) return undefined;
  const textOf = (text: Text): string => (typeof text === "string" ? text : text(item));
  return { todo: textOf(entry.todo), keys: textOf(entry.keys), command: textOf(entry.command) };
}

/** Returns whether the node of a `NODE` alert only lacks its first deployment document, so that the alert leads to the view of it. */
const lacksDocument = ({ target }: AttentionItem): boolean => target.place.view === "config";

function failingCommand({ kind, name, suspends }: AttentionItem): string {
  if (kind === "provider") return `gateway admin ${quoted(`backends/${encodeURIComponent(name)}/errors?nodes=all`)}`;
  return suspends === undefined ? "" : `gateway suspend ${quoted(suspensionId(suspends))} -reason TEXT -for 1h`;
}

function refusedCommand({ json }: AttentionItem): string {
  const request = textAt(Array.isArray(json) ? json[0] : json, "last_request");
  return request === undefined ? "gateway get refusals -nodes all" : `gateway explain ${quoted(request)}`;
}

/** Returns a text member of a row, as the admin API returned it. */
function textAt(row: unknown, name: string): string | undefined {
  const value: unknown =
    typeof row === "object" && row !== null && Object.hasOwn(row, name) ? Reflect.get(row, name) : undefined;
  return typeof value === "string" ? value : undefined;
}
