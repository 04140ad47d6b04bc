/** Resolves a caller of a suite to the variables of rules and to its profile. Source: document 3, `auth`. */

import { type AuthRules, profileOf } from "../../server/auth/index.ts";
import { type CallerVariables, callerVariables } from "../../server/core/policy/variables/index.ts";
import type { Governance, Profile } from "../../server/snapshot/index.ts";
import type { CallerText } from "./suite-schema.ts";
import type { Fault } from "./suite-subject.ts";

export interface Caller {
  readonly variables: CallerVariables;
  readonly profile: Profile;
}

interface ResolvedCaller {
  /**
   * Caller; `undefined` if there is a fault. The fault's path is below the caller, or below the case if it has no
   * caller.
   */
  readonly caller: Caller | undefined;
  readonly faults: readonly Fault[];
}

/** Resolves a caller. `text` is `undefined` for a request without a credential. */
export function resolveCaller(text: CallerText | undefined, { auth, profile }: Governance): ResolvedCaller {
  if (text === undefined) {
    const variables = callerVariables({ key: undefined, agent: undefined, user: undefined });
    return auth === undefined
      ? found(variables, profile(undefined))
      : refused(
          [],
          "`caller` is missing, and `auth` refuses a request without a credential before any rule is evaluated",
        );
  }
  if (auth === undefined) return refused([], "without `auth` the gateway recognizes no callers: remove `caller`");
  const named = text.key === undefined ? ofToken(text, auth) : ofKey(text, auth);
  if (named.kind === "fault") return refused(named.path, named.message);
  const variables = variablesOf(text);
  const ownProfile = profile(named.profile);
  if (ownProfile !== undefined) return found(variables, ownProfile);
  return refused(["profile"], `there is no profile \`${named.profile}\``);
}

const found = (variables: CallerVariables, profile: Profile | undefined): ResolvedCaller => ({
  caller: profile && { variables, profile },
  faults: [],
});

const refused = (path: Fault["path"], message: string): ResolvedCaller => ({
  caller: undefined,
  faults: [{ path, message }],
});

type NamedProfile =
  | { readonly kind: "profile"; readonly profile: string | undefined }
  | ({ readonly kind: "fault" } & Fault);

function ofKey({ profile }: CallerText, { virtualKeys }: AuthRules): NamedProfile {
  if (virtualKeys) return { kind: "profile", profile };
  return { kind: "fault", path: ["key"], message: "`auth` accepts no `virtual_keys`" };
}

function ofToken({ user, agent, profile, claims, audience }: CallerText, { issuers }: AuthRules): NamedProfile {
  const kind = user === undefined ? "agent" : "user";
  const name = (user ?? agent)?.issuer;
  const trusted = issuers.filter(({ issuer }) => issuer === name);
  if (trusted.length === 0)
    return { kind: "fault", path: [kind, "issuer"], message: "is not an issuer of `auth.issuers`" };
  const bindings = trusted.filter(({ subject }) => subject === kind);
  if (bindings.length === 0) {
    return {
      kind: "fault",
      path: [kind],
      message: `\`auth\` treats the subjects of this issuer as ${trusted[0]?.subject}s`,
    };
  }
  const binding = bindings.find((it) => audience === undefined || it.audience === audience);
  if (binding === undefined) {
    return { kind: "fault", path: ["audience"], message: "`auth.issuers` has this issuer with no such audience" };
  }
  return { kind: "profile", profile: profile ?? profileOf(claims ?? {}, binding) };
}

function variablesOf({ key, agent, user }: CallerText): CallerVariables {
  const email = user?.email ?? "";
  return callerVariables({
    key: key && { name: key.name, metadata: key.metadata ?? {} },
    agent: agent && {
      name: agent.name ?? agent.subject,
      issuer: agent.issuer ?? user?.issuer ?? "",
      subject: agent.subject,
    },
    user: user && {
      name: user.name ?? (email === "" ? user.subject : email),
      issuer: user.issuer,
      subject: user.subject,
      email,
    },
  });
}
