/**
 * Port `GovernanceLists` of the admin plane: profiles, issuers and budgets of the running configuration, and its buckets from the
 * cluster's state and this node's ledger. Source: design decisions, section 3; cluster reference, 7.2.
 *
 * The list contains the shared bucket of each budget, also before its first use, and the callers' own buckets that are used in
 * the current window or in this node's ledger: a key that spends nothing has no row.
 */
import { type BudgetRecord, collectStored, type GovernanceLists } from "../../admin/index.ts";
import type { StateView } from "../../cluster/index.ts";
import {
  type BucketRowInput,
  type BudgetRow,
  type BudgetRule,
  bucketName,
  resetsAt,
  windowAt,
} from "../../core/budgets/index.ts";
import {
  type HoldingRow,
  holdingsOf,
  keyIdRowKey,
  readHolding,
  readKeyName,
  readMember,
  readUsage,
  type UsageRow,
  usageRowKey,
} from "../../core/state/index.ts";
import type { Snapshot } from "../../snapshot/index.ts";
import type { Configuration } from "../configuration/configuration-types.ts";

const NOTIFY_EVERY_MS = 1_000;
/** Maximum delay of a timer. */
const MAX_TIMER_MS = 2 ** 31 - 1;
const USAGE = "usage/";
/** Matches the name that `bucketName` gives to a bucket of a single caller. */
const OWN_BUCKET = /^(b\/[^/]+)\/k\/([^/\u0000]+)$/;

/** State of this node's budget ledger that is not in the replicated state. */
export interface LedgerView {
  /** Returns the ledger's time, in milliseconds since 1970, which determines the windows in which requests are charged. */
  now(): number;
  row(question: BucketRowInput): BudgetRow;
  /** Returns the names of the buckets in the ledger. */
  buckets(): Iterable<string>;
}

interface GovernanceListsOptions {
  readonly configuration: Pick<Configuration, "running" | "onChange">;
  readonly view: StateView;
  /** Id of this node. */
  readonly node: string;
  readonly ledger: LedgerView;
  readonly refusals: RefusalCounts;
}

/** Requests that this node's data plane refused because a budget had no units left. */
interface RefusalCounts {
  /** Returns the number of refusals in the last minute. */
  ofBucket(bucket: string): number;
  /** Called at most once a second when a number may have changed. Returns a function that removes the listener. */
  onChange(listener: () => void): () => void;
}

export function governanceListsPort({
  configuration,
  view,
  node,
  ledger,
  refusals,
}: GovernanceListsOptions): GovernanceLists {
  const listeners = new Set<(what: "configuration" | "measurements") => void>();
  let snapshot: Snapshot | undefined;
  let paceTimer: NodeJS.Timeout | undefined;
  let isChanged = false;
  let windowTimer: NodeJS.Timeout | undefined;
  let unwatch: (() => void) | undefined;

  const notifyListeners = (what: "configuration" | "measurements"): void => {
    for (const listener of [...listeners]) listener(what);
  };
  const markChanged = (): void => {
    isChanged = true;
    if (paceTimer === undefined) notifyPaced();
  };
  /** Reports changes, at most once a second. */
  const notifyPaced = (): void => {
    paceTimer = undefined;
    if (!isChanged) return;
    isChanged = false;
    paceTimer = setTimeout(notifyPaced, NOTIFY_EVERY_MS).unref();
    scheduleWindowEnd();
    notifyListeners("measurements");
  };
  /** Reports a change when the next window ends, while there is usage. */
  const scheduleWindowEnd = (): void => {
    clearTimeout(windowTimer);
    const budgets = snapshot?.governance.budgets ?? [];
    const [used] = view.scan(USAGE);
    if (budgets.length === 0 || used === undefined) return;
    const now = ledger.now();
    const remainingMs = budgets.map(({ windowMs }) => resetsAt(windowAt(now, windowMs), windowMs) - now);
    windowTimer = setTimeout(markChanged, Math.min(MAX_TIMER_MS, ...remainingMs)).unref();
  };
  const listen = (): void => {
    const ends = [view.watch(USAGE, markChanged), refusals.onChange(markChanged)];
    unwatch = () => {
      for (const end of ends) end();
    };
    scheduleWindowEnd();
  };
  const stopListening = (): void => {
    unwatch?.();
    clearTimeout(paceTimer);
    clearTimeout(windowTimer);
    paceTimer = undefined;
    isChanged = false;
  };
  const follow = (): void => {
    const compiled = configuration.running()?.compiled;
    if (compiled?.kind !== "compiled" || compiled.snapshot === snapshot) return;
    snapshot = compiled.snapshot;
    if (listeners.size === 0) return;
    scheduleWindowEnd();
    notifyListeners("configuration");
  };
  follow();
  configuration.onChange(follow);

  return {
    profiles: () => (snapshot === undefined ? [] : profileRows(snapshot)),
    issuers: () => [...new Set((snapshot?.governance.auth?.issuers ?? []).map(({ issuer }) => issuer))],
    async budgets() {
      const budgets = snapshot?.governance.budgets ?? [];
      const own = budgets.filter(({ isShared }) => !isShared);
      const ends = new Set(own.map((rule) => endOf(rule, ledger.now())));
      const keys = await collectStored(view, USAGE, (key) => (ends.has(key.slice(-END_LENGTH)) ? key : undefined));
      return { [Symbol.iterator]: () => bucketRows({ view, node, ledger, refusals }, budgets, keys) };
    },
    onChange(listener) {
      listeners.add(listener);
      if (listeners.size === 1) listen();
      return () => {
        if (listeners.delete(listener) && listeners.size === 0) stopListening();
      };
    },
  };
}

const profileRows = ({
  governance: { profiles, policies },
  guardrails: { inForce },
}: Snapshot): ReturnType<GovernanceLists["profiles"]> => {
  const rulesOf = rulesByProfile(policies);
  return profiles.flatMap(({ name, budget, allowedModels, requireCaps, ownRules }) => {
    if (name === undefined) return [];
    return {
      name,
      budget: budget?.name ?? null,
      allowed_models: allowedModels,
      require_caps: requireCaps,
      access_rules: ownRules,
      rules: rulesOf(name),
      detectors: inForce.selections.get(name) ?? null,
    };
  });
};

type ProfileRule = NonNullable<ReturnType<GovernanceLists["profiles"]>[number]["rules"]>[number];

/** Groups the rules in one pass. Returns the rules of a profile in order of evaluation: the deployment's come first. */
function rulesByProfile({ rules }: Snapshot["governance"]["policies"]): (profile: string) => readonly ProfileRule[] {
  const common: ProfileRule[] = [];
  const own = new Map<string, ProfileRule[]>();
  for (const { layer, rule, hops } of rules) {
    const row: ProfileRule = { name: rule.name, action: rule.action, layer: layer.kind, at: hops };
    if (layer.kind === "deployment") common.push(row);
    else {
      const before = own.get(layer.profile);
      if (before === undefined) own.set(layer.profile, [row]);
      else before.push(row);
    }
  }
  return (profile) => [...common, ...(own.get(profile) ?? [])];
}

/** Returns the key of a bucket's usage in the window that contains `now`. */
const usageKeyOf = (bucket: string, { windowMs }: BudgetRule, now: number): string =>
  usageRowKey({ bucket, window_ms: windowMs, window: windowAt(now, windowMs) });

/** Returns the end of a usage key, which is the same for all buckets: length and number of the window. */
const endOf = (rule: BudgetRule, now: number): string => usageKeyOf("", rule, now).slice(USAGE.length);
const END_LENGTH = usageRowKey({ bucket: "", window_ms: 1, window: 1 }).length - USAGE.length;

type BucketRowInputs = Pick<GovernanceListsOptions, "view" | "node" | "ledger" | "refusals">;

/** Yields the rows of all buckets. `keys`: usage rows of buckets of single callers, as of when the list was taken. */
function* bucketRows(
  inputs: BucketRowInputs,
  budgets: readonly BudgetRule[],
  keys: readonly string[],
): Generator<BudgetRecord> {
  const { view, ledger } = inputs;
  const nodes = Array.from(view.scan("member/"), ([, value]) => readMember(value).id);
  const rules = new Map<string, BudgetRule>();
  for (const rule of budgets) {
    const bucket = bucketName(rule.name, true, "");
    if (!rule.isShared) rules.set(bucket, rule);
    else yield bucketRow(inputs, nodes, { rule, bucket, principal: undefined }, usageKeyOf(bucket, rule, ledger.now()));
  }
  const listed = new Set<string>();
  const ofCaller = (bucket: string): Bucket | undefined => {
    const [, budget = "", principal] = OWN_BUCKET.exec(bucket) ?? [];
    const rule = rules.get(budget);
    if (rule === undefined || principal === undefined || listed.has(bucket)) return undefined;
    listed.add(bucket);
    return { rule, bucket, principal: principal.replaceAll("%2F", "/").replaceAll("%25", "%") };
  };
  for (const key of keys) {
    const value = view.get(key);
    const bucket = value === undefined ? undefined : ofCaller(readUsage(value).bucket);
    // The window may have ended since, or another budget may have windows of the same length.
    if (bucket === undefined || !key.endsWith(endOf(bucket.rule, ledger.now()))) continue;
    yield bucketRow(inputs, nodes, bucket, key);
  }
  for (const name of ledger.buckets()) {
    const bucket = ofCaller(name);
    if (bucket !== undefined) yield bucketRow(inputs, nodes, bucket, usageKeyOf(name, bucket.rule, ledger.now()));
  }
}

interface Bucket {
  readonly rule: BudgetRule;
  /** Name, as `bucketName` returns it. */
  readonly bucket: string;
  /** Id of a key, or a digest of a token's subject; `undefined` for a shared bucket. */
  readonly principal: string | undefined;
}

/** Returns the row of a bucket. `key`: key of its usage in the current window. */
function bucketRow(
  { view, node, ledger, refusals }: BucketRowInputs,
  nodes: readonly string[],
  { rule, bucket, principal }: Bucket,
  key: string,
): BudgetRecord {
  const value = view.get(key);
  const usage = value === undefined ? undefined : readUsage(value);
  const holdings = nodes.flatMap((id) => {
    const held = view.get(holdingsOf(id) + key.slice(USAGE.length));
    return held === undefined ? [] : [readHolding(held)];
  });
  const name = principal === undefined ? undefined : view.get(keyIdRowKey(principal));
  const row = ledger.row({
    budget: rule.name,
    name: bucket,
    key: principal === undefined || name === undefined ? undefined : { id: principal, name: readKeyName(name) },
    windowMs: rule.windowMs,
    limit: rule.limit,
    usage,
    holdings,
  });
  const refused = refusals.ofBucket(bucket);
  return {
    ...row,
    bucket: principal ?? row.bucket,
    status: refused > 0 ? "refusing" : row.status,
    refused_per_minute: refused,
    holders: holdersOf(row, usage, holdings, node),
    node,
  };
}

/** Returns the holders of a bucket. For this node, the row also includes usage that was not reported yet. */
function holdersOf(
  row: BudgetRow,
  usage: UsageRow | undefined,
  holdings: readonly HoldingRow[],
  node: string,
): BudgetRecord["holders"] {
  const unreported = row.used - (usage?.used ?? 0) - (usage?.spent ?? 0);
  const elsewhere = holdings.reduce((sum, it) => sum + (it.node === node ? 0 : unspent(it)), 0);
  return holdings.map((it) =>
    it.node === node
      ? { node, granted: row.granted - elsewhere, spent: it.spent + unreported }
      : { node: it.node, granted: unspent(it), spent: it.spent },
  );
}

const unspent = ({ granted, returned, spent }: HoldingRow): number => Math.max(0, granted - returned - spent);
