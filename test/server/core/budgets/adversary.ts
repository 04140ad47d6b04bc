/**
 * Arrivals that try to break a budget: small requests lower the average, and then large ones come at once, each using
 * its bound, or more without one. One seed is one run; nothing fails in it.
 *
 * The bound of `core/budgets/reserving.ts` must be true. Requests are separated by whether they state their output.
 */
import {
  type Averages,
  applyReportAnswer,
  averageOf,
  bucketOf,
  createAverages,
  createLedger,
  estimate,
  type Ledger,
  observeCost,
  type Report,
  type Reservation,
  reserve,
  settle,
  takeDecided,
  takeReport,
  tick,
  tokenCost,
} from "../../../../src/server/core/budgets/index.ts";
import { BUCKET, createCluster, limitOf, START } from "./cluster.ts";
import { randomOf } from "./simulation.ts";

const STEP_MS = 10;
const DAY = 86_400_000;
/** Assumed output of a request that states none. */
const ASSUMED = 16_384;

export interface Attack {
  readonly seed: number;
  readonly nodes: number;
  readonly limit: number;
  /** Concurrent requests per node. */
  readonly burst: number;
  /** Share of requests that state their output. */
  readonly stated: number;
  /** Maximum output of a request without a bound. */
  readonly output: number;
}

interface Damage {
  readonly charged: number;
  readonly admitted: number;
  readonly refused: number;
  /** For requests without a bound: total usage above their assumed output. */
  readonly unbounded: number;
  /** For requests admitted alone with less: the maximum per node, summed over the nodes. */
  readonly alone: number;
}

interface Request {
  readonly held: Reservation;
  readonly actual: number;
  readonly hard: number;
  readonly isStated: boolean;
  readonly ends: number;
}

interface Member {
  readonly ledger: Ledger;
  readonly averages: Averages;
  requests: Request[];
  alone: number;
}

export function attack(plan: Attack): Damage {
  const random = randomOf(plan.seed);
  const below = (bound: number): number => Math.floor(random() * bound);
  const cluster = createCluster(Array.from({ length: plan.nodes }, (_, at) => `n${at}`));
  const limit = limitOf(plan.limit, DAY);
  const rule = { cost: tokenCost("TotalToken"), costType: "TotalToken", limit: plan.limit } as const;
  const members: Member[] = Array.from({ length: plan.nodes }, (_, at) => {
    const ledger = createLedger(`n${at}`, cluster.start(`n${at}`));
    ledger.pledges = true;
    ledger.hasLeader = true;
    return { ledger, averages: createAverages(), requests: [], alone: 0 };
  });
  const post: { readonly at: number; run(): void }[] = [];
  const damage = { charged: 0, admitted: 0, refused: 0, unbounded: 0 };
  let time = 0;
  const now = (): number => START + time;

  const begin = (member: Member, isSmall: boolean): void => {
    const isStated = random() < plan.stated;
    const input = 1 + below(isSmall ? 20 : 200);
    const output = 1 + below(isSmall ? 20 : isStated ? 600 : plan.output);
    // All look alike to the averages, as if from one caller for one model.
    const bounds = { input, output: isStated ? output : ASSUMED, hasOutputLimit: isStated };
    const found = estimate(rule, { model: "m", backend: "p" }, bounds, averageOf(member.averages, "alike"));
    if (found.kind === "error") throw new Error(found.message);
    const bucket = bucketOf(member.ledger, BUCKET, limit);
    if (bucket === undefined) throw new Error("no bucket");
    const held = reserve(member.ledger, bucket, found.demand, now());
    const actual = input + output;
    member.requests.push({ held, actual, hard: input + bounds.output, isStated, ends: time + 20 + below(1_000) });
  };

  const proceed = (member: Member, request: Request): boolean => {
    const { held, actual, hard, isStated } = request;
    if (held.state === "waiting") return true;
    if (held.state !== "held") {
      damage.refused += 1;
      return false;
    }
    if (time < request.ends) return true;
    settle(member.ledger, held, actual, now());
    observeCost(member.averages, "alike", actual);
    damage.charged += actual;
    damage.admitted += 1;
    if (isStated) return false;
    damage.unbounded += Math.max(0, actual - hard);
    // The reservation was below the assumption, and the difference was not kept free.
    const short = Math.min(hard, actual) - Math.max(held.amount, Math.min(held.hard, plan.limit));
    if (held.amount >= held.soft && held.amount < held.hard)
      member.alone = Math.max(member.alone, actual - held.amount);
    else if (short > 0) member.alone = Math.max(member.alone, short);
    return false;
  };

  const send = ({ ledger }: Member): void => {
    for (let report = takeReport(ledger, now()); report !== undefined; report = takeReport(ledger, now())) {
      const carried: Report = report;
      const arrives = time + below(30);
      post.push({
        at: arrives,
        run() {
          const result = cluster.apply(carried);
          if (result.kind === "refused") throw new Error(result.code);
          const { rows } = result.value as { readonly rows: Parameters<typeof applyReportAnswer>[2] };
          post.push({ at: time + below(30), run: () => applyReportAnswer(ledger, carried, rows, now()) });
        },
      });
    }
  };

  const step = (): void => {
    time += STEP_MS;
    cluster.now = now();
    for (let at = 0; at < post.length; ) {
      const one = post[at];
      if (one === undefined || one.at > time) at += 1;
      else post.splice(at, 1)[0]?.run();
    }
    for (const member of members) {
      if (time % 50 === 0) tick(member.ledger, now(), time);
      takeDecided(member.ledger);
      member.requests = member.requests.filter((request) => proceed(member, request));
      takeDecided(member.ledger);
      send(member);
    }
  };

  // Forty small sequential requests lower the average.
  for (let made = 0; made < 40; made += 1) {
    for (const member of members) begin(member, true);
    for (let count = 0; count < 10; count += 1) step();
  }
  for (let round = 0; round < 6; round += 1) {
    for (const member of members) for (let made = 0; made < plan.burst; made += 1) begin(member, false);
    for (let pause = 1 + below(120); pause > 0; pause -= 1) step();
  }
  while (members.some(({ requests }) => requests.length > 0)) step();
  return { ...damage, alone: members.reduce((sum, { alone }) => sum + alone, 0) };
}
