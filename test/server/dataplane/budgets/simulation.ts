/**
 * Requests on open budgets of several nodes, over a network that loses, repeats and delays reports, with processes that
 * get new numbers or die; checked against the real usage. One seed is one run, in one window, so that sums match.
 *
 * For each finished request: charged = metered, to the unit. Always, for the bucket:
 *   charged <= limit + sum over requests of max(0, charged - reserved)      (cluster reference, 7.3)
 * For each refusal as exhausted with reserved bounds: at some instant within the last answer's age the rest of the
 * limit, beyond what nodes held, was less than the request needed.
 */
import assert from "node:assert/strict";
import { setImmediate as turn } from "node:timers/promises";
import { TICK_MS } from "../../../../src/server/core/budgets/index.ts";
import type { Charge } from "../../../../src/server/dataplane/budgets/index.ts";
import { createCluster, holdingsOf, usageOf } from "../../core/budgets/cluster.ts";
import { randomOf } from "../../core/budgets/simulation.ts";
import { openNode, type Reservation, ruleOf, spendingOf, startReservation, type TestNode, tokens } from "./support.ts";

const DAY = 86_400_000;
/** Validity of an answer. */
const TOLD_MS = 500;

export interface Plan {
  readonly seed: number;
  readonly nodes: number;
  readonly limit: number;
  /** Maximum requests per node in a tick of 50 ms. */
  readonly load: number;
  readonly lengthMs: number;
  /** Whether requests reserve the bound of their cost; otherwise the average, which may be too little. */
  readonly isHard: boolean;
  /** Probability that a request's first attempt fails midway. */
  readonly failovers: number;
  /** Probability that a report or its answer is lost. */
  readonly loss: number;
  readonly doubling: number;
  /** Probability that a report is delayed, per tick. */
  readonly delay: number;
  /** Probability per node and tick that the cluster gives its process a new number. */
  readonly renumbering: number;
  /** Probability per node and tick that its process dies with all its requests and another starts. */
  readonly crashes: number;
}

interface Outcome {
  readonly charged: number;
  /** Charged above reservations. */
  readonly excess: number;
  readonly completed: number;
  readonly exhausted: number;
  readonly unavailable: number;
  /** Granted, and in the end neither spent nor returned. */
  readonly stranded: number;
}

interface Request {
  readonly reservation: Reservation<Charge>;
  readonly bound: number;
  readonly actual: number;
  readonly endsAt: number;
  readonly outcome: "complete" | "untold" | "broken" | "left" | "unsent";
  failsOver: boolean;
  isCounted: boolean;
  /** Usage of finished attempts. */
  before: number;
  /** Reported usage of the running attempt. */
  flowed: number;
}

interface Process {
  readonly id: string;
  node: TestNode;
  requests: Request[];
}

const untoldBy = (node: TestNode): number => node.metric("gateway_budget_unreported_units_total");

export async function simulate(plan: Plan): Promise<Outcome> {
  const random = randomOf(plan.seed);
  const below = (bound: number): number => Math.floor(random() * bound);
  const ids = Array.from({ length: plan.nodes }, (_, at) => `n${at}`);
  const cluster = createCluster(ids);
  const rule = ruleOf(plan.limit, { windowMs: DAY });
  const processes: Process[] = ids.map((id) => ({ id, node: openNode(cluster, id), requests: [] }));
  const left: { readonly at: number; readonly units: number }[] = [];
  const counts = { completed: 0, exhausted: 0, unavailable: 0 };
  let charged = 0;
  let excess = 0;
  let uncounted = 0;
  let isReplaced = false;
  let made = 0;

  const noteLeft = (): void => {
    const usage = usageOf(cluster.state, cluster.now, DAY);
    left.push({ at: cluster.now, units: Math.max(0, plan.limit - (usage?.used ?? 0) - (usage?.open ?? 0)) });
  };

  const begin = (process: Process): void => {
    const bound = 2 + below(below(4) === 0 ? 400 : 60);
    const outcome = random();
    made += 1;
    const spending = spendingOf(rule, bound, { averageKey: plan.isHard ? String(made) : "alike" });
    process.requests.push({
      reservation: startReservation(() => process.node.budgets.reserve(spending)),
      bound,
      actual: 1 + below(bound),
      endsAt: cluster.now + below(1_500),
      outcome:
        outcome < 0.6
          ? "complete"
          : outcome < 0.7
            ? "untold"
            : outcome < 0.8
              ? "broken"
              : outcome < 0.9
                ? "left"
                : "unsent",
      failsOver: random() < plan.failovers,
      isCounted: false,
      before: 0,
      flowed: 0,
    });
  };

  /** Returns false when the request has ended. */
  const proceed = (request: Request): boolean => {
    const { now } = request.reservation;
    if (now === undefined) return true;
    if (now instanceof Error) {
      refused(request, now.code);
      return false;
    }
    const { outcome, actual } = request;
    const isOver = cluster.now >= request.endsAt;
    if (outcome === "unsent") {
      if (isOver) end(request, now, () => now.release(), 0);
      return !isOver;
    }
    if (!request.isCounted) now.attempt({ model: "m", backend: "p" });
    request.isCounted = true;
    if (request.failsOver && below(3) === 0) {
      // Reported usage of a failed attempt stays charged, and the next attempt's is added.
      request.failsOver = false;
      request.before += request.flowed;
      request.flowed = 0;
      now.attempt({ model: "m", backend: "q" });
    }
    if (!isOver) {
      if (below(4) === 0 && request.flowed < actual) {
        request.flowed += 1 + below(actual - request.flowed);
        now.spend(tokens(request.flowed));
      }
      return true;
    }
    const known = request.flowed > 0 ? request.flowed : undefined;
    const unknown = known ?? now.reserved;
    if (outcome === "complete") end(request, now, () => now.settle(tokens(actual)), request.before + actual);
    else if (outcome === "untold") end(request, now, () => now.settle(undefined), request.before + unknown);
    else if (outcome === "left") end(request, now, () => now.abort(undefined), request.before + unknown);
    else end(request, now, () => now.abort(known === undefined ? undefined : tokens(known)), request.before + unknown);
    return false;
  };

  const end = (request: Request, charge: Charge, run: () => void, metered: number): void => {
    run();
    run();
    charge.release();
    assert.equal(charge.spent, metered, `${request.outcome}: charged is not metered`);
    charged += metered;
    excess += Math.max(0, metered - charge.reserved);
    counts.completed += 1;
  };

  const refused = ({ bound }: Request, code: string): void => {
    if (code === "budget_unavailable") {
      counts.unavailable += 1;
      return;
    }
    assert.equal(code, "budget_exhausted");
    counts.exhausted += 1;
    if (!plan.isHard || bound > plan.limit) return;
    const since = cluster.now - TOLD_MS - 2_000;
    const before = left.filter(({ at }) => at <= since).at(-1)?.units ?? plan.limit;
    const least = Math.min(before, ...left.filter(({ at }) => at > since).map(({ units }) => units));
    assert.ok(least < bound, `${bound} refused as exhausted while ${least} were left`);
  };

  const carry = ({ id, node }: Process, isFaulty: boolean): void => {
    for (const posted of [...node.posted]) {
      if (isFaulty && random() < plan.delay) continue;
      if (isFaulty && random() < plan.doubling)
        cluster.apply({ ...posted.report, node: id, id: 0, sentAt: 0, shares: [] });
      const outcome = isFaulty ? random() : 1;
      if (outcome < plan.loss / 2) posted.lose();
      else if (outcome < plan.loss) posted.applyOnly();
      else posted.deliver();
      noteLeft();
    }
  };

  const check = (): void => {
    let flowing = 0;
    let over = excess;
    for (const { reservation, before, flowed } of processes.flatMap(({ requests }) => requests)) {
      const { now } = reservation;
      if (now === undefined || now instanceof Error) continue;
      assert.equal(now.spent, before + flowed);
      flowing += now.spent;
      over += Math.max(0, now.spent - now.reserved);
    }
    assert.ok(
      charged + flowing <= plan.limit + over,
      `${charged + flowing} charged of ${plan.limit}, ${over} above reservations`,
    );
    const usage = usageOf(cluster.state, cluster.now, DAY);
    assert.ok((usage?.used ?? 0) + (usage?.open ?? 0) <= plan.limit + over + uncounted);
  };

  const step = async (isBusy: boolean): Promise<void> => {
    cluster.now += TICK_MS;
    for (const process of processes) {
      if (isBusy && random() < plan.crashes) {
        isReplaced = true;
        for (const { reservation } of process.requests) {
          // A dying request was charged as far as its usage was reported; the rest is never reported.
          if (reservation.now === undefined || reservation.now instanceof Error) continue;
          charged += reservation.now.spent;
          excess += Math.max(0, reservation.now.spent - reservation.now.reserved);
        }
        uncounted += process.node.metric("gateway_budget_excess_units_total") + untoldBy(process.node);
        process.node = openNode(cluster, process.id);
        process.requests = [];
        continue;
      }
      if (isBusy && random() < plan.renumbering) {
        isReplaced = true;
        process.node.renumber();
      }
      for (let count = isBusy ? below(plan.load + 1) : 0; count > 0; count -= 1) begin(process);
      process.requests = process.requests.filter(proceed);
      await process.node.tick();
      carry(process, isBusy);
    }
    await turn();
    check();
  };

  for (let time = 0; time < plan.lengthMs; time += TICK_MS) await step(true);
  // The faults end, together with everything in flight.
  for (let time = 0; time < 7_000; time += TICK_MS) await step(false);

  for (const { requests } of processes) assert.equal(requests.length, 0);
  const usage = usageOf(cluster.state, cluster.now, DAY);
  const counted = (usage?.used ?? 0) + (usage?.spent ?? 0);
  if (isReplaced) {
    // A closed grant is charged in full. Spending above it without a report is lost with a dead process, and counted as
    // unreported by one that continues under a new number.
    const untold = processes.reduce((all, { node }) => all + untoldBy(node), uncounted);
    assert.ok(counted + untold >= charged, `${counted} counted of ${charged}, ${untold} untold`);
  } else assert.equal(counted, charged);
  const stranded = holdingsOf(cluster.state).reduce(
    (all, { granted, returned, spent }) => all + Math.max(0, granted - returned - spent),
    0,
  );
  return { charged, excess, ...counts, stranded };
}
