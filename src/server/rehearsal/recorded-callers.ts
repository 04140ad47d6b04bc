/** Resolves callers of recorded requests as a configuration would recognize them today. */
import { ANONYMOUS, type Caller } from "../auth/index.ts";
import type { RecordedCaller, RecordedRequest, Step } from "../core/rehearsal/index.ts";
import type { ConfigurationSide, CurrentKey } from "./types.ts";

interface RecognizedCaller {
  /** Caller; `undefined` if the step does not pass. */
  readonly caller: Caller | undefined;
  readonly step: Step;
  /** Display name. */
  readonly displayName: string;
}

const UNRECOGNIZED: RecognizedCaller = {
  caller: undefined,
  step: { kind: "unknown", reason: "its caller was not recognized", decidedBy: ["auth"] },
  displayName: "nobody",
};

/**
 * Returns a function that recognizes callers. `keys` is by id. Each caller is created once, so that what is cached for it is
 * computed once.
 */
export function createRecognizer(
  side: Pick<ConfigurationSide, "snapshot">,
  keys: ReadonlyMap<string, CurrentKey>,
): (request: Pick<RecordedRequest, "caller">) => RecognizedCaller {
  const known = new Map<string, RecognizedCaller>();
  return ({ caller: text }) => {
    if (text === "") return UNRECOGNIZED;
    let recognized = known.get(text);
    if (recognized === undefined) {
      recognized = recognize(JSON.parse(text) as RecordedCaller, side, keys);
      known.set(text, recognized);
    }
    return recognized;
  };
}

const PASSED = { kind: "passed" } as const;

function recognize(
  recorded: RecordedCaller,
  { snapshot }: Pick<ConfigurationSide, "snapshot">,
  keys: ReadonlyMap<string, CurrentKey>,
): RecognizedCaller {
  const { auth } = snapshot.governance;
  const displayName = nameOf(recorded);
  const unknown = (reason: string, decidedBy?: readonly string[]): RecognizedCaller => ({
    caller: callerOf(recorded),
    step: { kind: "unknown", reason, ...(decidedBy !== undefined && { decidedBy }) },
    displayName,
  });
  if (auth === undefined) return { caller: ANONYMOUS, step: PASSED, displayName };
  const { key } = recorded;
  if (recorded.kind === "anonymous") return unknown("callers would need a credential");
  if (key === undefined) {
    const issuer = auth.issuers.some((binding) => binding.issuer === recorded.issuer);
    if (!issuer) return { caller: undefined, step: refusal(), displayName };
    return unknown("`auth` decides what its token allows", ["auth"]);
  }
  if (!auth.virtualKeys) return { caller: undefined, step: refusal(), displayName };
  const now = keys.get(key.id);
  if (now === undefined) return unknown(`the key \`${key.name}\` no longer exists`);
  const isSame =
    now.name === key.name &&
    (now.profile ?? undefined) === recorded.profile &&
    canonical(now.metadata) === canonical(key.metadata);
  if (!isSame) return unknown(`the key \`${key.name}\` has changed since`);
  return { caller: callerOf(recorded), step: PASSED, displayName };
}

const refusal = () => ({ kind: "refused", code: "unauthenticated", by: "auth" }) as const;

const canonical = (metadata: Readonly<Record<string, string>>): string =>
  JSON.stringify(Object.entries(metadata).sort(([a], [b]) => (a < b ? -1 : 1)));

const callerOf = ({ kind, key, agent, user, issuer, profile, principal }: RecordedCaller): Caller => ({
  kind,
  key,
  agent,
  user,
  issuer,
  profile,
  principal,
  onlyServer: undefined,
});

/** Returns the caller's name in the list of requests. */
function nameOf({ kind, key, user, agent }: RecordedCaller): string {
  if (kind === "anonymous") return "anonymous";
  return key?.name ?? (user === undefined ? agent?.name : user.email === "" ? user.name : user.email) ?? "unknown";
}
