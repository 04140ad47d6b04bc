/**
 * Nodes that spend from one bucket over a network that loses, duplicates and reorders, with differing clocks, dying
 * processes and leader changes; checked against the real usage. One seed is one run.
 *
 * Checked continuously for each window: charged <= limit + sum over requests of max(0, charged - reserved); the same
 * for the cluster's charges; for each `exhausted`: the rest of the limit at some instant within the last answer's age,
 * plus the node's free units, was less than the request needed; and for each `unavailable`: the node's free units were.
 */

import assert from "node:assert/strict";
import {
  abort,
  applyReportAnswer,
  bucketOf,
  chargeRunning,
  createLedger,
  freeOf,
  giveUpReport,
  type Ledger,
  type Report,
  type Reservation,
  release,
  reserve,
  settle,
  startNextAttempt,
  TICK_MS,
  takeDecided,
  takeReport,
  tick,
  windowAt,
} from "../../../../src/server/core/budgets/index.ts";
import { BUCKET, type Cluster, createCluster, holdingsOf, limitOf, START, usageOf } from "./cluster.ts";
import { type Outage, type Outcome, type Plan, randomOf } from "./plan.ts";

export { type Plan, randomOf } from "./plan.ts";

/** Average cost of a request. */
const AVERAGE = 72;
/** Time after which a report is given up. */
const CARRIED_MS = 400;
/** Validity of an answer. */
const TOLD_MS = 500;

interface Request {
  readonly held: Reservation;
  /** Window of its admission. */
  window: number;
  readonly actual: number;
  readonly begins: number;
  readonly ends: number;
  readonly end: "settle" | "abort" | "release";
  readonly knows: boolean;
  fails: boolean;
  /** Reported charge. */
  charged: number;
}

interface Member {
  readonly id: string;
  readonly skew: number;
  readonly load: number;
  ledger: Ledger;
  requests: Request[];
}

interface Post {
  readonly at: number;
  run(): void;
}

export function simulate(plan: Plan): Outcome {
  const random = randomOf(plan.seed);
  const below = (bound: number): number => Math.floor(random() * bound);
  const cluster: Cluster = createCluster(plan.load.map((_, at) => `n${at}`));
  const members: Member[] = plan.load.map((load, at) => ({
    id: `n${at}`,
    skew: plan.skew[at] ?? 0,
    load,
    ledger: createLedger(`n${at}`, cluster.start(`n${at}`)),
    requests: [],
  }));
  const STEP_MS = plan.stepMs ?? 10;
  const post: Post[] = [];
  const charged = new Map<number, number>();
  const excess = new Map<number, number>();
  const left: { readonly at: number; readonly window: number; readonly units: number }[] = [];
  const counts = { admitted: 0, exhausted: 0, unavailable: 0, reports: 0, lastAdmitted: 0 };
  const isOut = (node: number, kind?: Outage["kind"]): boolean =>
    (plan.outages ?? []).some((outage) => {
      const isNow = outage.node === node && time >= outage.at && time < outage.at + outage.ms;
      // Dead nodes stay dead in the end.
      return isNow && (kind ?? outage.kind) === outage.kind && (!isCalm || outage.kind === "dead");
    });
  const elapsedOf = (node: number): number => time * (plan.pace?.[node] ?? 1);
  let limit = limitOf(plan.limit, plan.windowMs);
  let highest = plan.limit;
  let hasLeader = true;
  let wasRestarted = false;
  const diedAt = new Set<number>();
  let isCalm = false;
  let time = 0;

  const nowOf = ({ skew }: Member): number =>
    Math.max(START + time + skew, plan.readsLog ? cluster.state.applied.now : 0);
  const add = (to: Map<number, number>, window: number, units: number): void => {
    to.set(window, (to.get(window) ?? 0) + units);
  };
  for (const { ledger } of members) ledger.pledges = plan.pledges;
  const bucketFor = ({ ledger }: Member) => bucketOf(ledger, BUCKET, limit)!;

  function begin(member: Member): void {
    const actual = 1 + below(below(4) === 0 ? 400 : 60);
    const bound = actual + below(100);
    const soft = plan.isHard ? bound : Math.min(bound, AVERAGE);
    const held = reserve(member.ledger, bucketFor(member), { hard: bound, soft }, nowOf(member));
    const outcome = random();
    const request: Request = {
      held,
      window: held.share.window,
      actual,
      begins: time,
      ends: time + 20 + below(1_500),
      end: outcome < 0.8 ? "settle" : outcome < 0.95 ? "abort" : "release",
      knows: below(2) === 0,
      fails: random() < plan.retries,
      charged: 0,
    };
    if (held.state === "exhausted" || held.state === "unavailable") decided(member, request);
    else member.requests.push(request);
    if (held.state === "held") admitted();
  }

  function admitted(): void {
    counts.admitted += 1;
    counts.lastAdmitted = time;
  }

  function decided(member: Member, request: Request): void {
    const { held } = request;
    if (held.state === "held") {
      admitted();
    } else if (held.state === "unavailable") {
      counts.unavailable += 1;
      if (plan.isHard) assert.ok(freeOf(held.share) < held.hard, "unavailable with room at hand");
    } else if (held.state === "exhausted") {
      counts.exhausted += 1;
      if (plan.isHard) assertNoRoom(member, held);
    }
  }

  function drain(member: Member): void {
    for (const held of takeDecided(member.ledger)) {
      const request = member.requests.find((one) => one.held === held);
      if (request !== undefined) decided(member, request);
    }
  }

  /** A request is refused only if the bucket has no room beyond reservations and other nodes' grants. */
  function assertNoRoom(member: Member, { hard, share }: Reservation): void {
    if (hard > limit.limit) return;
    const since = time - TOLD_MS - plan.delayMs - 2 * STEP_MS;
    const here = left.filter(({ window }) => window === share.window);
    const earlier = here.filter(({ at }) => at <= since).at(-1);
    const least = Math.min(
      earlier?.units ?? plan.limit,
      ...here.filter(({ at }) => at > since).map(({ units }) => units),
    );
    assert.ok(
      least + freeOf(share) < hard,
      `${member.id} refused ${hard} with ${least} left and ${freeOf(share)} free`,
    );
  }

  function note(request: Request, total: number): void {
    const more = total - request.charged;
    if (more <= 0) return;
    const over = Math.max(0, total - request.held.amount) - Math.max(0, request.charged - request.held.amount);
    add(charged, request.window, more);
    add(excess, request.window, over);
    request.charged = total;
  }

  function proceed(member: Member, request: Request): boolean {
    const { held, actual } = request;
    const now = nowOf(member);
    if (held.state === "waiting") return true;
    if (held.state !== "held") return false;
    if (request.charged === 0) request.window = held.share.window;
    const part = Math.min(1, (time - request.begins) / (request.ends - request.begins));
    if (request.end === "release") {
      if (part < 1) return true;
      release(member.ledger, held, now);
      return false;
    }
    const used = Math.floor(actual * part);
    if (request.fails && part > 0.3) {
      // Usage of a failed attempt stays charged, and the next attempt's is added.
      request.fails = false;
      startNextAttempt(member.ledger, held, now);
    }
    if (part < 1) {
      if (below(4) === 0) {
        chargeRunning(member.ledger, held, used, now);
        note(request, held.spentBefore + Math.max(used, held.spent - held.spentBefore));
      }
      return true;
    }
    const before = held.spentBefore;
    if (request.end === "settle") {
      settle(member.ledger, held, actual, now);
      settle(member.ledger, held, actual, now);
      note(request, before + actual);
      assert.equal(held.spent, before + actual);
    } else {
      const known = request.knows ? Math.floor(actual / 2) : undefined;
      const flowed = request.charged - before;
      abort(member.ledger, held, known, now);
      const sure = Math.max(known ?? 0, flowed);
      note(request, before + (sure > 0 ? sure : held.amount));
      assert.equal(held.spent, request.charged);
    }
    return false;
  }

  function send(member: Member): void {
    const { ledger } = member;
    for (
      let report = takeReport(ledger, nowOf(member));
      report !== undefined;
      report = takeReport(ledger, nowOf(member))
    ) {
      counts.reports += 1;
      carry(member, ledger, report);
    }
  }

  function carry(member: Member, ledger: Ledger, report: Report): void {
    const later = (run: () => void): void => void post.push({ at: time + below(plan.delayMs + 1), run });
    const isFaulty = (chance: number): boolean => !isCalm && random() < chance;
    const arrive = (): void => {
      if (!hasLeader || isOut(members.indexOf(member))) return;
      const result = cluster.apply(report);
      noteLeft();
      if (result.kind === "refused") {
        assert.equal(result.code, "stale_incarnation");
        return;
      }
      const { rows } = result.value as { readonly rows: Parameters<typeof applyReportAnswer>[2] };
      if (isFaulty(plan.loss)) return;
      if (isOut(members.indexOf(member))) return;
      const logNow = cluster.state.applied.now;
      later(() => applyReportAnswer(ledger, report, rows, nowOf(member), logNow));
    };
    if (!isFaulty(plan.loss)) later(arrive);
    if (isFaulty(plan.doubling)) post.push({ at: time + below(3_000), run: arrive });
    post.push({ at: time + CARRIED_MS, run: () => giveUpReport(ledger, report, nowOf(member)) });
  }

  function noteLeft(): void {
    for (const offset of [-1, 0, 1]) {
      const usage = usageOf(cluster.state, cluster.now + offset * plan.windowMs, plan.windowMs);
      if (usage === undefined) continue;
      const units = Math.max(0, usage.limit - usage.used - usage.open);
      left.push({ at: time, window: usage.window, units });
    }
  }

  function check(): void {
    for (const [window, units] of charged) {
      const over = excess.get(window) ?? 0;
      assert.ok(
        units <= highest + over,
        `window ${window}: ${units} charged of ${highest}, ${over} above reservations`,
      );
      const usage = usageOf(cluster.state, window * plan.windowMs, plan.windowMs);
      if (usage !== undefined) assert.ok(usage.used + usage.open <= highest + over);
    }
  }

  function step(arrivals: boolean): void {
    time += STEP_MS;
    cluster.now = START + time;
    const due = post.filter(({ at }) => at <= time).sort((a, b) => a.at - b.at);
    post.splice(0, post.length, ...post.filter(({ at }) => at > time));
    for (const { run } of due) run();
    if (time % 500 === 0) hasLeader = isCalm || random() >= plan.leaderless;
    for (const [at, member] of members.entries()) {
      if (isOut(at, "dead")) {
        // Requests in flight on it end unreported; it starts over when it is back.
        if (member.requests.length > 0) member.requests = [];
        wasRestarted = true;
        diedAt.add(at);
        continue;
      }
      if (diedAt.delete(at)) {
        member.ledger = createLedger(member.id, cluster.start(member.id));
        member.ledger.pledges = plan.pledges;
      }
      if (!isCalm && random() < (plan.restarts * STEP_MS) / 1_000) {
        wasRestarted = true;
        member.ledger = createLedger(member.id, cluster.start(member.id));
        member.ledger.pledges = plan.pledges;
        member.requests = [];
      }
      for (let chance = (member.load * STEP_MS) / 1_000; arrivals && chance > 0; chance -= 1) {
        if (random() < chance) begin(member);
      }
      drain(member);
      member.requests = member.requests.filter((request) => proceed(member, request));
      drain(member);
      if (time % TICK_MS === 0) tick(member.ledger, nowOf(member), elapsedOf(at));
      drain(member);
      send(member);
    }
    if (plan.changesLimit && !isCalm && below(200) === 0) {
      limit = limitOf(Math.floor(plan.limit * (0.5 + random())), plan.windowMs, limit.limitRev + 1);
      highest = Math.max(highest, limit.limit);
    }
    if (time % 100 === 0) check();
  }

  while (time < plan.lengthMs) step(true);
  // The faults end, together with everything in flight.
  isCalm = true;
  while (time < plan.lengthMs + 4_500) step(false);
  const isBusy = (): boolean => members.some(({ ledger }, at) => !diedAt.has(at) && ledger.pendingReports.size > 0);
  for (let count = 0; isBusy(); count += 1) {
    assert.ok(count < 200, "a report has no outcome");
    step(false);
  }
  check();
  const alive = members.filter((_, at) => !diedAt.has(at));
  assertSettled(alive, cluster, { charged, excess }, plan.windowMs, wasRestarted);
  const untold = [...charged.keys()].reduce(
    (sum, window) => sum + (usageOf(cluster.state, window * plan.windowMs, plan.windowMs)?.untold ?? 0),
    0,
  );
  return { charged, excess, ...counts, untold };
}

/** In the end the cluster knows the charge of every surviving process, and at least the total usage. */
function assertSettled(
  members: readonly Member[],
  cluster: Cluster,
  { charged, excess }: Pick<Outcome, "charged" | "excess">,
  windowMs: number,
  wasRestarted: boolean,
): void {
  for (const { ledger, requests } of members) {
    assert.equal(requests.length, 0);
    assert.equal(ledger.waiting.size + ledger.pendingReports.size, 0);
    for (const share of ledger.buckets.get(BUCKET)?.shares.values() ?? []) {
      assert.deepEqual([share.reserved, share.open, share.queue.length], [0, 0, 0]);
      const row = holdingsOf(cluster.state).find(({ node, window }) => node === ledger.node && window === share.window);
      assert.equal(share.spent, row?.spent ?? 0);
    }
  }
  for (const [window, units] of charged) {
    const usage = usageOf(cluster.state, window * windowMs, windowMs);
    if (usage === undefined || window < windowAt(cluster.now, windowMs) - 2) continue;
    // A dead process lost only its unreported usage above its grant.
    if (wasRestarted) assert.ok(usage.used + usage.open + (excess.get(window) ?? 0) >= units, `window ${window}`);
    else assert.equal(usage.used + usage.spent, units, `window ${window}`);
  }
}
