/** `gateway suspend KIND:NAME` and `gateway lift KIND:NAME`. */

import { SUSPENSION_KINDS, type SuspensionKind } from "../../admin-api/index.ts";
import { formatDuration } from "../../base/index.ts";
import type { Context, Need } from "../../console/index.ts";
import { clipArgument, didYouMean, type FlagsOf, UsageError } from "../parse-flags.ts";
import type { ExitStatus, Io } from "../process-io.ts";
import type { liftFlags, suspendFlags } from "./operate-flags.ts";
import { contextOf, loadConsole, runChange } from "./run-change.ts";
import { unknownName } from "./unknown-name.ts";
import { withGateway } from "./with-gateway.ts";

/** Lists that the dialogs need: suspensions, what requests can be routed to, and the nodes. */
const NEEDS: readonly Need[] = [
  { id: "list_suspensions" },
  { id: "list_backends" },
  { id: "list_models" },
  { id: "list_profiles" },
  { id: "list_mcp_servers" },
  { id: "list_a2a_agents" },
  { id: "list_keys" },
  { id: "list_cluster_members" },
];

/**
 * Lists that contain every name of a kind. Models are missing, since any name can be suspended, and so are issuers,
 * which no list contains.
 */
const NAMES_IN = {
  provider: "list_backends",
  key: "list_keys",
  profile: "list_profiles",
  mcp: "list_mcp_servers",
  a2a: "list_a2a_agents",
} as const satisfies Partial<Record<SuspensionKind, Need["id"]>>;

/** Duration of a suspension that has no end time. */
const UNTIL_LIFTED = "until lifted";

interface Subject {
  readonly kind: SuspensionKind;
  readonly name: string;
}

/** Parses `KIND:NAME`, such as `provider:openai`. Throws `UsageError`. */
function subjectOf(text = ""): Subject {
  const at = text.indexOf(":");
  const [kindText, name] = at < 0 ? [text, ""] : [text.slice(0, at), text.slice(at + 1)];
  const kind = SUSPENSION_KINDS.find((it) => it === kindText.toLowerCase());
  if (at >= 0 && kind !== undefined && name !== "") return { kind, name };
  const kinds = SUSPENSION_KINDS.join(", ");
  if (at < 0) throw new UsageError(`'${clipArgument(text)}' has no kind: write KIND:NAME, with one of ${kinds}`);
  if (kind === undefined) {
    throw new UsageError(
      `'${clipArgument(kindText)}' is not a kind${didYouMean(kindText, SUSPENSION_KINDS)}; kinds: ${kinds}`,
    );
  }
  throw new UsageError(`'${clipArgument(text)}' has no name after the colon`);
}

/** Returns the names of that kind; `undefined` if no list contains them all, or the list could not be read. */
function knownNames({ data }: Context, kind: SuspensionKind): readonly string[] | undefined {
  const list: Need["id"] | undefined = (NAMES_IN as Partial<Record<SuspensionKind, Need["id"]>>)[kind];
  const rows = list === undefined ? undefined : data.get({ id: list })?.value;
  if (!Array.isArray(rows)) return undefined;
  return [...new Set(rows.map((row: { readonly name: string }) => row.name))];
}

export const suspend = {
  run: (options: FlagsOf<typeof suspendFlags>, [text]: readonly string[], io: Io): Promise<ExitStatus> => {
    const { kind, name } = subjectOf(text);
    return withGateway("suspend", options, io, async (called) => {
      const console = await loadConsole();
      const context = await contextOf(called, NEEDS, io, console);
      const known = knownNames(context, kind);
      if (known !== undefined && !known.includes(name)) {
        io.stderr.write(`gateway suspend: ${unknownName(kind, name, known)}\n`);
        return 1;
      }
      const duration = options.for === undefined ? UNTIL_LIFTED : formatDuration(options.for);
      const change = {
        verb: "suspend",
        dialog: console.suspendDialog({ kind, names: [name] }, context),
        values: { reason: options.reason, duration },
        context,
        consent: options.yes ? "yes" : "ask",
      } as const;
      return await runChange(change, called, io, console);
    });
  },
};

export const lift = {
  run: (options: FlagsOf<typeof liftFlags>, [text]: readonly string[], io: Io): Promise<ExitStatus> => {
    const { kind, name } = subjectOf(text);
    return withGateway("lift", options, io, async (called) => {
      const console = await loadConsole();
      const context = await contextOf(called, NEEDS, io, console);
      if (console.suspensionOf(context.data, kind, name) === undefined) {
        if (options.ifExists) {
          io.stderr.write(`${kind}:${clipArgument(name)} is not suspended; nothing was changed.\n`);
          return 0;
        }
        const active = console.rowsOf(context.data, "suspensions").filter(({ status }) => status === "active");
        const known = active.map((row) => `${row.kind}:${row.name}`);
        io.stderr.write(`gateway lift: ${unknownName("suspension", `${kind}:${name}`, known)}\n`);
        return 1;
      }
      const change = {
        verb: "lift",
        dialog: console.liftDialog({ kind, names: [name] }, context),
        values: {},
        context,
        consent: options.yes ? "yes" : "ask",
      } as const;
      return await runChange(change, called, io, console);
    });
  },
};
