/**
 * Settles the verdict of access rules on a request: refuses or allows it, and records it if a rule decided. Source:
 * specification document 3 (`access_rules[]`), document 1 (Errors); design decisions, section 4.
 */

import type { Log } from "../../../base/index.ts";
import { GatewayError } from "../../../base/index.ts";
import type { Decision, Layer, Verdict } from "../../core/policy/index.ts";
import { displayText } from "../caller-label.ts";
import type { DecisionRecord, DecisionTrail, PreparedRecord } from "../ports.ts";
import type { DecidedRequest } from "./decided-request.ts";
import type { EffectiveProfile } from "./effective-profile.ts";
import type { DecisionMetrics } from "./metrics.ts";
import { type RecordTemplate, templateOf } from "./record-templates.ts";

export interface DecisionSinks {
  /** Audit trail; `undefined` in a process without state, which has no rules either. */
  readonly trail: DecisionTrail | undefined;
  readonly metrics: DecisionMetrics;
  readonly log: Log;
  /** Facts about the request; `allowedBy` receives the name of the rule that admitted it. */
  readonly facts: { allowedBy: string | undefined; readonly trace?: { recordSuspension(): void } | undefined };
}

/**
 * Records a verdict. Returns the refusal, or `undefined` if the request is allowed. Throws `audit_unavailable` if the decision
 * cannot be recorded.
 */
export function settleVerdict(
  verdict: Verdict,
  request: DecidedRequest,
  effective: EffectiveProfile,
  { trail, metrics, log, facts }: DecisionSinks,
): GatewayError | undefined {
  const { decisions, skipped } = verdict;
  if (verdict.kind === "allow" && decisions.length === 0 && skipped.length === 0) return undefined;
  for (const { rule, layer, action } of decisions) metrics.countDecision(rule, profileOf(layer), action);
  for (const { rule, layer, error, detail } of skipped) {
    metrics.countError(rule, profileOf(layer), error);
    log.warn("an access rule could not be evaluated and was skipped", { rule, profile: profileOf(layer), detail });
  }
  if (verdict.kind === "error") metrics.countError(verdict.by.rule, profileOf(verdict.by.layer), verdict.by.error);
  trail?.record(recordFor(verdict, request, effective));
  const last = decisions.at(-1);
  if (verdict.kind === "allow" && last !== undefined) facts.allowedBy = ruleName(last);
  return verdict.kind === "allow"
    ? undefined
    : new GatewayError(verdict.code, verdict.message, { by: { kind: "rule", name: ruleName(verdict.by) } });
}

/**
 * Returns the rule's name for display. A profile and the deployment may have rules of the same name, so the profile's is shown
 * as `profile staff/no-previews`.
 */
const ruleName = ({ rule, layer }: Pick<Decision, "rule" | "layer">): string =>
  layer.kind === "profile" ? `profile ${layer.profile}/${rule}` : rule;

const profileOf = (layer: Layer): string => (layer.kind === "profile" ? layer.profile : "");

const describeDecision = ({ rule, layer, action }: Decision): string =>
  `${layer.kind === "profile" ? `profile ${layer.profile}` : "deployment"}: ${action} by ${rule}`;

function recordFor(verdict: Verdict, request: DecidedRequest, effective: EffectiveProfile): DecisionRecord {
  const { decisions, skipped, kind } = verdict;
  const [decision] = decisions;
  if (decision === undefined || decisions.length > 1 || skipped.length > 0 || kind === "error") {
    return buildRecord(verdict, request, effective);
  }
  const template = templateOf(decision, kind, request, effective);
  return template === undefined
    ? buildRecord(verdict, request, effective)
    : new CachedDecisionRecord(template, request.requestId, () => buildRecord(verdict, request, effective));
}

/** Audit record whose data is only built if the cached text of its template cannot be used. */
class CachedDecisionRecord implements DecisionRecord {
  readonly event = "access.decision";
  readonly controls: readonly string[];
  readonly prepared: PreparedRecord;
  readonly #make: () => DecisionRecord;

  constructor({ controls, template }: RecordTemplate, request: string, make: () => DecisionRecord) {
    this.controls = controls;
    this.prepared = { template, request };
    this.#make = make;
  }

  get data(): DecisionRecord["data"] {
    return this.#make().data;
  }
}

function buildRecord(verdict: Verdict, request: DecidedRequest, { caller, profile }: EffectiveProfile): DecisionRecord {
  const { decisions, skipped } = verdict;
  // The last match decides: the profile's rules override an allow of the deployment's rules.
  const by = verdict.kind === "error" ? verdict.by : (decisions.at(-1) ?? skipped.at(-1));
  const controls = [...decisions, ...skipped, ...(verdict.kind === "error" ? [verdict.by] : [])];
  const { key, agent, user, issuer } = caller;
  return {
    event: "access.decision",
    controls: [...new Set(controls.flatMap((it) => it.controls))],
    // The members are in the order of the canonical form, so that the trail need not sort them.
    data: {
      agent: agent === undefined ? null : agent.subject,
      budget: profile.budget?.name ?? null,
      caller: caller.kind,
      decision: verdict.kind,
      error: verdict.kind === "error" ? verdict.by.error : null,
      hop: request.hop,
      issuer: issuer ?? null,
      key: key === undefined ? null : key.name,
      key_id: key === undefined ? null : key.id,
      layer: by?.layer.kind ?? null,
      matched: decisions.map(describeDecision),
      model: request.model === undefined ? null : displayText(request.model),
      ...(request.name !== undefined && { name: displayText(request.name) }),
      profile: profile.name ?? null,
      request: request.requestId,
      route: request.route,
      rule: by?.rule ?? null,
      skipped: skipped.map(({ rule }) => rule),
      to: request.to,
      user: user === undefined ? null : user.subject,
      user_name: user === undefined ? null : user.name,
    },
  };
}
