/**
 * Policy of the admin plane: a Cedar policy set, compiled once, evaluated in some 40 microseconds. Source: specification
 * document 1, Authentication; design decisions, section 3 (Policy). `policy-schema.ts` describes what a policy can refer to.
 *
 * A request that no policy permits is denied, and a `forbid` overrides. As in Cedar, a policy that cannot be evaluated for a
 * request does not apply to it, so a `forbid` should not read optional attributes. Names are passed to Cedar as values and
 * never put into text.
 */

import { randomUUID } from "node:crypto";
import type { DetailedError, EntityJson, TypeAndId } from "@cedar-policy/cedar-wasm/nodejs";
import type { Principal } from "../principal.ts";
import { adminPolicySchema } from "./policy-schema.ts";
import {
  findExcessiveNesting,
  indexOfByte,
  MAX_POLICY_BYTES,
  MAX_PROBLEMS,
  type PolicyProblem,
  type Position,
  positionAt,
} from "./policy-text.ts";
import type { Access, AccessDecision, AccessQuestion } from "./types.ts";

type PolicyOutcome =
  /** Policy in force. `warnings`: names that do not exist, and policies that can never apply. */
  | { readonly kind: "loaded"; readonly access: Access; readonly warnings: readonly PolicyProblem[] }
  | { readonly kind: "refused"; readonly problems: readonly PolicyProblem[] };

type Cedar = typeof import("@cedar-policy/cedar-wasm/nodejs");

/** Maximum number of policies. Each is evaluated for each decision, on the thread that serves: a thousand take some 3 ms. */
const MAX_POLICIES = 1_000;

/** Form of a valid `@id`: up to 128 printable characters, because records of decisions contain it. */
const ID = /^[^\p{C}]{1,128}$/u;

/** Roles of callers without a token; no issuer can grant them. */
const RESERVED_ROLES: ReadonlySet<string> = new Set(["local", "loopback"]);

/** Loads a policy. Never rejects because of the text: an invalid one is returned as refused. */
export async function loadPolicy(source: string): Promise<PolicyOutcome> {
  const text = source.replace(/^\ufeff/, "");
  const bytes = Buffer.from(text);
  if (bytes.length > MAX_POLICY_BYTES) return refused(undefined, `is larger than ${MAX_POLICY_BYTES} bytes`);
  if (!text.isWellFormed()) return refused(undefined, "is not well-formed Unicode");
  const deep = findExcessiveNesting(text);
  if (deep !== undefined) return refused(positionAt(text, deep.index), deep.message);

  const cedar = await loadCedar();
  const positionOf = (offset: number): Position => positionAt(text, indexOfByte(bytes, offset));
  const problems = (errors: readonly DetailedError[]): readonly PolicyProblem[] =>
    errors
      .slice(0, MAX_PROBLEMS)
      .flatMap((error) => problemsOf(error, positionOf))
      .slice(0, MAX_PROBLEMS);

  const parts = cedar.policySetTextToParts(text);
  if (parts.type === "failure") return { kind: "refused", problems: problems(parts.errors) };
  const [template] = parts.policy_templates;
  if (template !== undefined) {
    const at = positionAt(text, Math.max(0, text.indexOf(template)));
    return refused(at, "is a template; the gateway cannot fill in `?principal` or `?resource`");
  }

  if (parts.policies.length > MAX_POLICIES) {
    return refused(undefined, `holds ${parts.policies.length} policies; the maximum is ${MAX_POLICIES}`);
  }
  const policies = namePolicies(cedar, text, parts.policies);
  const unfit = policies.find(({ name }) => !ID.test(name));
  if (unfit !== undefined) return refused(positionAt(text, unfit.index), "an `@id` has 1 to 128 printable characters");
  const setId = randomUUID();
  const staticPolicies = Object.fromEntries(policies.map(({ key, text: policy }) => [key, policy]));
  const parsed = cedar.preparsePolicySet(setId, { staticPolicies });
  if (parsed.type === "failure") return { kind: "refused", problems: problems(parsed.errors) };

  return {
    kind: "loaded",
    access: accessOf(cedar, setId, new Map(policies.map(({ key, name }) => [key, name]))),
    warnings: [
      ...repeatedIds(policies).map(({ index, name }) => ({
        ...positionAt(text, index),
        message: `a second policy has the id ${JSON.stringify(name)}: records cannot tell them apart`,
      })),
      ...problems(schemaWarnings(cedar, text)),
    ].slice(0, MAX_PROBLEMS),
  };
}

interface NamedPolicy {
  /** Id that Cedar assigns: `policy<n>` by position. */
  readonly key: string;
  /** Name from its `@id`, otherwise `policy<n>` by its position from 0. */
  readonly name: string;
  readonly text: string;
  /** Start of its text, in UTF-16 units. */
  readonly index: number;
}

/** Assigns ids to the texts of policies: Cedar returns the texts sorted by id, so `policy10` precedes `policy2`. */
function namePolicies(cedar: Cedar, text: string, texts: readonly string[]): readonly NamedPolicy[] {
  const keys = texts.map((_, at) => `policy${at}`).sort();
  const inOrder = new Map(texts.map((policy, at) => [keys[at] ?? "", policy]));
  let end = 0;
  return texts.map((_, at) => {
    const key = `policy${at}`;
    const policy = inOrder.get(key) ?? "";
    const index = Math.max(end, text.indexOf(policy, end));
    end = index + policy.length;
    const json = cedar.policyToJson(policy);
    const id = json.type === "success" ? json.json.annotations?.["id"] : undefined;
    return { key, name: id ?? key, text: policy, index };
  });
}

function repeatedIds(policies: readonly NamedPolicy[]): readonly NamedPolicy[] {
  const seen = new Set<string>();
  return policies.filter(({ name }) => seen.has(name) || !seen.add(name)).slice(0, MAX_PROBLEMS);
}

/** Returns names that the schema does not know. A policy that never applies is reported only if no wrong name explains it. */
function schemaWarnings(cedar: Cedar, text: string): readonly DetailedError[] {
  const answer = cedar.validate({
    schema: adminPolicySchema(),
    policies: { staticPolicies: text },
    validationSettings: { mode: "strict" },
  });
  if (answer.type === "failure") throw new Error(`the admin policy schema: ${answer.errors[0]?.message}`);
  const wrong = new Set(answer.validationErrors.map(({ policyId }) => policyId));
  const idle = answer.validationWarnings.filter(({ policyId }) => !wrong.has(policyId));
  return [...answer.validationErrors, ...idle].map(({ error }) => error).concat(answer.otherWarnings);
}

function accessOf(cedar: Cedar, preparsedPolicySetId: string, names: ReadonlyMap<string, string>): Access {
  const nameOf = (key: string): string => names.get(key) ?? key;
  return {
    decide(question) {
      if (!isWellFormed(question)) return DENIED;
      const principal = principalEntity(question.principal);
      const action = { type: "Action", id: question.action };
      const answer = cedar.statefulIsAuthorized({
        principal: principal.uid,
        action,
        resource: { type: question.resource.kind, id: question.resource.name },
        context: {},
        entities: [principal, { uid: action, attrs: {}, parents: [{ type: "Action", id: question.group }] }],
        preparsedPolicySetId,
      });
      if (answer.type === "failure") {
        throw new Error(`the admin policy could not be evaluated: ${answer.errors[0]?.message}`);
      }
      const { decision, diagnostics } = answer.response;
      return {
        isAllowed: decision === "allow",
        policies: diagnostics.reason.map(nameOf).sort(),
        failed: diagnostics.errors.map(({ policyId }) => nameOf(policyId)).sort(),
      };
    },
  };
}

const DENIED: AccessDecision = { isAllowed: false, policies: [], failed: [] };

/** Returns whether all texts can be encoded as UTF-8. A lone surrogate cannot, so policies could not tell such texts apart. */
function isWellFormed({ principal: { issuer, subject, roles }, action, resource }: AccessQuestion): boolean {
  return [issuer, subject, ...roles, action, resource.name].every((text) => text.isWellFormed());
}

interface PrincipalEntity extends EntityJson {
  readonly uid: TypeAndId;
}

function principalEntity({ issuer, subject, roles }: Principal): PrincipalEntity {
  const isLocal = issuer === "local";
  const granted = isLocal ? roles : roles.filter((role) => !RESERVED_ROLES.has(role));
  const parents = granted.map((role) => ({ type: "Role", id: role }));
  if (isLocal) return { uid: { type: "Local", id: subject }, attrs: {}, parents };
  // Slashes in the issuer are escaped, so that callers of different issuers never have the same id.
  const name = issuer.replaceAll("%", "%25").replaceAll("/", "%2F");
  return { uid: { type: "User", id: `${name}/${subject}` }, attrs: { issuer, subject }, parents };
}

function problemsOf(error: DetailedError, positionOf: (offset: number) => Position): PolicyProblem[] {
  const [at] = error.sourceLocations ?? [];
  const cedarMessage = error.message.replace(
    /^failed to parse policies from string: |^for policy `policy\d+`[,:] /,
    "",
  );
  const message = [cedarMessage, ...(at?.label ? [at.label] : []), ...(error.help ? [error.help] : [])].join("; ");
  const related = (error.related ?? []).flatMap((it) => problemsOf(it, positionOf));
  return [{ ...positionOf(at?.start ?? 0), message }, ...related];
}

function refused(position: Position | undefined, message: string): PolicyOutcome {
  return { kind: "refused", problems: [{ ...(position ?? { line: 1, column: 1 }), message }] };
}

/** Loads Cedar on demand: it is 4 MB of code, which a node without a policy file does not need. */
async function loadCedar(): Promise<Cedar> {
  return (await import("@cedar-policy/cedar-wasm/nodejs")).default;
}
