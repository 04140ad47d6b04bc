/**
 * Tree of everything that a caller depends on: key, profile, budget, access rules, guardrails, models, providers. Each node has
 * its live state, and the row of another view that shows it.
 */

import type { BudgetRecord, GuardrailRecord, KeyRecord, ProfileRecord } from "../../admin-api/index.ts";
import { keyNamed, profileNamed } from "../actions/keys-by-name.ts";
import { suspensionOf, suspensionText } from "../actions/suspension-dialogs.ts";
import { count, plural } from "../format/numbers.ts";
import { ago, humanDuration } from "../format/times.ts";
import { type Data, rowsOf } from "../model/data.ts";
import { BUDGET_STATES, bucketId, ownerOf, usedPercent } from "./budgets-bucket.ts";
import { guardrailId } from "./guardrails-row.ts";
import { allBucketsOf, spendingIn } from "./keys-index.ts";
import { expiryOf, KEY_STATES } from "./keys-table.ts";
import { capsOf } from "./profiles-facts.ts";
import { causeText } from "./refusals.ts";
import { callsTrees, modelsTree } from "./xray-models.ts";
import { node, type Target, type Tree, unread, unreadNode } from "./xray-node.ts";

/** Maximum number of buckets in a tree; those that need attention come first. */
const MAX_BUCKETS = 50;

/** Returns the tree of the key of that name, otherwise of the profile; `undefined` if there is neither. */
export function xrayOf(data: Data, name: string): Tree | undefined {
  const key = keyNamed(data, name);
  if (key !== undefined) return keyTree(data, key);
  const profile = profileNamed(data, name);
  return profile === undefined ? undefined : profileTree("", data, profile.name, undefined);
}

function keyTree(data: Data, key: KeyRecord): Tree {
  const { name, status, id, last_used_at: used } = key;
  const suspension = suspensionOf(data, "key", name);
  const { word, tone } = KEY_STATES[status];
  const end = expiryOf(key);
  return node(
    "",
    {
      kind: "key",
      name,
      state: word,
      tone,
      isBad: status !== "active",
      facts(now) {
        if (suspension !== undefined) return suspensionText(suspension, now);
        const ends = end === null ? "never expires" : end > now ? `expires in ${humanDuration(end - now)}` : "expired";
        return `id ${id}, last used ${ago(used, now)}, ${ends}`;
      },
      target: { place: { view: "keys" }, row: name },
      json: key,
    },
    (root) => [...refusalNodes(root, data, name), profileTree(root, data, key.profile, key)],
  );
}

/** Lists what refused the caller in the last hour, beginning with the most refusals in the last minute. */
function refusalNodes(parent: string, data: Data, caller: string): readonly Tree[] {
  const byCause = new Map<string, { minute: number; hour: number; last: string }>();
  for (const row of rowsOf(data, "refusals")) {
    if (row.caller !== caller || row.caller_kind !== "key") continue;
    const by = causeText(row);
    const what = `${row.code}${by === "" ? "" : ` by ${by}`}`;
    const sum = byCause.get(what) ?? { minute: 0, hour: 0, last: row.last_at };
    sum.minute += row.last_minute;
    sum.hour += row.last_hour;
    if (row.last_at > sum.last) sum.last = row.last_at;
    byCause.set(what, sum);
  }
  const causes = [...byCause].sort(([, a], [, b]) => b.minute - a.minute || b.hour - a.hour);
  return causes.map(([what, { minute, hour, last }]) =>
    node(parent, {
      kind: "refused",
      name: what,
      state: minute > 0 ? `${count(minute)}/min` : "earlier",
      tone: minute > 0 ? "fail" : "dim",
      isBad: minute > 0,
      facts: (now) => `${plural(hour, "request")} in the last hour, the last ${ago(last, now)}`,
      target: { place: { view: "refusals" }, filter: caller },
    }),
  );
}

function profileTree(parent: string, data: Data, name: string | null, key: KeyRecord | undefined): Tree {
  const reason = name === null ? undefined : unread(data, "list_profiles");
  if (reason !== undefined) return unreadNode(parent, "profile", reason, name ?? "");
  const profile = name === null ? undefined : profileNamed(data, name);
  if (profile === undefined) {
    const isMissing = name !== null;
    return node(
      parent,
      {
        kind: "profile",
        name: name ?? "none",
        state: isMissing ? "MISSING" : "",
        tone: isMissing ? "fail" : "plain",
        isBad: isMissing,
        facts: () =>
          isMissing
            ? "the configuration has no profile of this name"
            : "no profile: no budget, every routed model, and the access rules of the deployment",
        target: { place: { view: "profiles" } },
      },
      (id) =>
        isMissing ? [] : [guardrailsTree(id, data, undefined), modelsTree(id, data, []), ...callsTrees(id, data)],
    );
  }
  const suspension = suspensionOf(data, "profile", profile.name);
  return node(
    parent,
    {
      kind: "profile",
      name: profile.name,
      state: suspension === undefined ? "active" : "SUSPENDED",
      tone: suspension === undefined ? "plain" : "off",
      isBad: suspension !== undefined,
      facts(now) {
        if (suspension !== undefined) return suspensionText(suspension, now);
        const caps = capsOf(profile);
        return `${plural(profile.keys, "key")}${caps === "-" ? "" : `, requires ${caps}`}`;
      },
      target: { place: { view: "profiles" }, row: profile.name },
      json: profile,
    },
    (id) => [
      ...budgetTrees(id, data, profile, key),
      rulesTree(id, data, profile, key),
      guardrailsTree(id, data, profile),
      modelsTree(id, data, profile.allowed_models),
      ...callsTrees(id, data),
    ],
  );
}

/** Lists the buckets of a key, or without a key all buckets of the budget of the profile. */
function budgetTrees(parent: string, data: Data, profile: ProfileRecord, key: KeyRecord | undefined): readonly Tree[] {
  const { budget } = profile;
  if (budget === null) return [node(parent, { kind: "budget", name: "none", facts: () => "no limit" })];
  const reason = unread(data, "list_budgets");
  if (reason !== undefined) return [unreadNode(parent, "budget", reason, budget)];
  const target: Target = { place: { view: "budgets" } };
  const rows =
    key === undefined
      ? rowsOf(data, "budgets").filter((row) => row.budget === budget)
      : allBucketsOf(data, key).filter((row) => row === spendingIn(data)(key).bucket || row.budget !== budget);
  const isSpent = rows.some((row) => row.budget === budget);
  const isOk = (row: BudgetRecord): number => Number(BUDGET_STATES[row.status].mark === "");
  const shown = [...rows].sort((a, b) => isOk(a) - isOk(b)).slice(0, MAX_BUCKETS);
  const more = rows.length - shown.length;
  return [
    ...(isSpent
      ? []
      : [node(parent, { kind: "budget", name: budget, facts: () => "nothing spent in this window", target })]),
    ...shown.map((row) => {
      const { word, tone, mark } = BUDGET_STATES[row.status];
      const refused = row.refused_per_minute === 0 ? "" : `, refuses ${count(row.refused_per_minute)}/min`;
      return node(parent, {
        kind: "budget",
        name: `${row.budget} (${ownerOf(row)})`,
        state: word,
        tone,
        isBad: mark !== "",
        facts: (now) =>
          `${count(row.remaining)} of ${count(row.limit)} left, resets in ${humanDuration(Date.parse(row.resets_at) - now)}, ` +
          `used ${count(row.used)} (${usedPercent(row)} %)${refused}`,
        target: { ...target, row: bucketId(row) },
        json: row,
      });
    }),
    ...(more > 0
      ? [node(parent, { kind: "budgets", name: "", facts: () => `${count(more)} more in :budgets`, target })]
      : []),
  ];
}

function rulesTree(parent: string, data: Data, profile: ProfileRecord, key: KeyRecord | undefined): Tree {
  const { rules, access_rules: own, name } = profile;
  const refused = (rule: string): number =>
    rowsOf(data, "refusals")
      .filter(
        (row) => row.cause === "rule" && row.cause_name === rule && (key === undefined || row.caller === key.name),
      )
      .reduce((sum, row) => sum + row.last_hour, 0);
  return node(
    parent,
    {
      kind: "access rules",
      name: "",
      facts: () =>
        rules === undefined
          ? `${own} of the profile; this version of the gateway does not list them`
          : rules.length === 0
            ? "none: everything is allowed"
            : "in the order in which they are evaluated",
      target: { place: { view: "config" } },
    },
    (id) =>
      (rules ?? []).map((rule) => {
        const cause = rule.layer === "profile" ? `profile ${name}/${rule.name}` : rule.name;
        const times = refused(cause);
        return node(id, {
          kind: rule.layer === "profile" ? "rule" : "deployment rule",
          name: rule.name,
          state: rule.action,
          isBad: times > 0,
          tone: times > 0 ? "warn" : "plain",
          facts: () =>
            `for ${rule.at.join(", ")}${times === 0 ? "" : `; refused ${plural(times, "request")} in the last hour`}`,
          target: times > 0 ? { place: { view: "refusals" }, filter: cause } : { place: { view: "config" } },
          json: rule,
        });
      }),
  );
}

function guardrailsTree(parent: string, data: Data, profile: ProfileRecord | undefined): Tree {
  const reason = unread(data, "list_guardrails");
  if (reason !== undefined) return unreadNode(parent, "guardrails", reason);
  const detectors = profile?.detectors ?? null;
  const applies = ({ kind, name, exempt }: GuardrailRecord): boolean =>
    !exempt.includes(profile?.name ?? "") && (kind === "rule" || detectors === null || detectors.includes(name));
  const all = rowsOf(data, "guardrails").filter(applies);
  return node(
    parent,
    {
      kind: "guardrails",
      name: "",
      facts: () => (all.length === 0 ? "none: no text is inspected" : ""),
      target: { place: { view: "guardrails" } },
    },
    (id) =>
      all.map((record) => {
        const { kind, name, type, mode, errors, decisions, texts_read: read, on_error: onError } = record;
        const isShadow = mode === "shadow";
        return node(id, {
          kind: kind === "rule" ? "guardrail rule" : kind,
          name,
          state: errors > 0 ? "ERRORS" : isShadow ? "SHADOW" : "ok",
          tone: errors > 0 ? (onError === "fail_closed" ? "fail" : "warn") : isShadow ? "off" : "plain",
          isBad: errors > 0,
          facts: () =>
            [
              type,
              kind === "rule" ? `acted ${plural(decisions ?? 0, "time")}` : `${plural(read ?? 0, "text")} read`,
              ...(errors > 0 ? [plural(errors, "error"), onError] : []),
            ].join(", "),
          target: { place: { view: "guardrails" }, row: guardrailId(record) },
          json: record,
        });
      }),
  );
}
