/**
 * Budgets while nodes stop, are killed and lose each other. Each call costs one unit, so everything is known except the
 * calls in flight on a killed process: they are paid by its grant, which stays charged in full. Source: cluster
 * reference, 7.2 (crash or partition of a node) and 7.3; design decisions, section 8.
 */
import assert from "node:assert/strict";
import { after, test } from "node:test";
import { createRandom } from "../../cluster/support/random.ts";
import { until } from "../../cluster/support/until.ts";
import { SLOW_MS } from "../../config/support/nodes.ts";
import { assertWithin, type Bounds, flatBoundsOf, sumOf, tallyOf } from "./support/accounts.ts";
import { assertUnavailable, type Called, call } from "./support/calls.ts";
import { callAll, type Load, mintKeys, type Placed, ROUNDS, resetCounts, SEED, startLoad } from "./support/load.ts";
import { LONG_WINDOW, leaderOf, type Member, startBudgeted } from "./support/members.ts";
import { makePlan } from "./support/plans.ts";
import { mustHaveRow, settledRows } from "./support/rows.ts";

const PLENTY = 1_000_000;
const SCARCE = 150;
const CLIENTS = 6;
/** Calls that finish before and after each event. */
const STRETCH = 40;

const file = { after };
const random = createRandom(SEED);
const flat = { window: LONG_WINDOW, shared: true, cost: { type: "CEL", cel: "1" } };
const scarce = Array.from({ length: ROUNDS }, (_, round) => `scarce-${round}`);
const gateways = await startBudgeted(file, {
  ids: ["n1", "n2", "n3"],
  budgets: [{ ...flat, name: "plenty", limit: PLENTY }, ...scarce.map((name) => ({ ...flat, name, limit: SCARCE }))],
});
const { members, simulator, links } = gateways;
const keys = await mintKeys(gateways, Object.fromEntries(["plenty", ...scarce].map((name) => [name, name])));
const keyOf = (name: string) => keys.find((key) => key.name === name) ?? assert.fail();

let made = 0;

/** Whole and streamed calls; some of those on `plenty` are long, so that some are in flight whenever a process ends. */
function placedAt(among: readonly Member[], budget = "plenty"): Placed {
  made += 1;
  const lasting = budget === "plenty" ? ["sim-slow-50ms", "sim-slow-stream-5ms"] : [];
  const model = `${random.pick(["sim-1", "sim-long-50", ...lasting])}:${made}`;
  const shape = random.pick(["chat", "messages"] as const);
  const plan = makePlan({ shape, streams: random.below(2) === 0, model, random });
  return { plan, key: keyOf(budget), member: random.pick(among) };
}

const load = (among: () => readonly Member[]): Load => startLoad(() => placedAt(among()), simulator, CLIENTS);

/** Resolves once this many more calls have finished. */
async function stretch({ calls }: Load): Promise<void> {
  const wanted = calls.length + STRETCH;
  await until(`${STRETCH} more calls`, () => calls.length >= wanted, SLOW_MS);
}

/** Returns the usage once all nodes run and everything charged is reported. */
async function usedOf(budget: string): Promise<number> {
  return (await settledRows(members, budget)).get(null)?.used ?? 0;
}

const boundsOf = (calls: readonly Called[]): Bounds => {
  const counts = simulator.counts();
  return sumOf(calls.map((called) => flatBoundsOf(called, counts)));
};

/** While the cluster elects a leader a node may be without units; no other failure is allowed. */
function assertOnlyUnavailable(calls: readonly Called[]): void {
  for (const called of calls) if (called.end === "refused" || called.end === "failed") assertUnavailable(called);
}

const running = (): readonly Member[] => members.filter(({ isRunning }) => isRunning);

test("a node stopped by SIGTERM returns its unused grant: each call is charged once", async (t) => {
  for (let round = 0; round < ROUNDS; round += 1) {
    await resetCounts(simulator);
    const before = await usedOf("plenty");
    const victim = random.pick(members);
    const working = load(running);
    await stretch(working);
    await victim.stop();
    await stretch(working);
    await victim.start();
    await stretch(working);
    const calls = await working.stop();
    const used = (await usedOf("plenty")) - before;
    t.diagnostic(`seed ${SEED}: ${victim.id} restarted; charged ${used}; ${tallyOf(calls)}`);
    assertOnlyUnavailable(calls);
    assertWithin(used, boundsOf(calls), `after the end of ${victim.id}, seed ${SEED}`);
    // A call that the end of the node cut off may have been charged without an answer.
    const brokenCalls = calls.filter(({ end }) => end === "broken").length;
    const { answered } = simulator.counts();
    assert.ok(
      used >= answered && used <= answered + brokenCalls,
      `charged ${used}, and the provider answered ${answered}`,
    );
  }
});

for (const who of ["a follower", "the leader"]) {
  test(`the grant of ${who} that is killed stays charged, and nothing beyond it`, async (t) => {
    for (let round = 0; round < ROUNDS; round += 1) {
      await resetCounts(simulator);
      const before = await usedOf("plenty");
      const leader = await leaderOf(gateways.member(0));
      const victim =
        who === "the leader" ? gateways.member(leader) : random.pick(members.filter(({ id }) => id !== leader));
      const working = load(running);
      await stretch(working);
      await victim.kill();
      const survivor = random.pick(running());
      await until("a leader among the survivors", async () => (await leaderOf(survivor)) !== victim.id, SLOW_MS);
      await stretch(working);
      const calls = await working.stop();
      assertOnlyUnavailable(calls.filter(({ end }) => end !== "unreachable"));
      const { granted } = (await settledRows(running(), "plenty")).get(null) ?? assert.fail();
      await victim.start();
      const later = await callAll(
        Array.from({ length: STRETCH }, () => placedAt(members)),
        simulator,
        CLIENTS,
      );
      assertOnlyUnavailable(later);
      const used = (await usedOf("plenty")) - before;
      const { lower, upper } = boundsOf([...calls, ...later]);
      const { answered } = simulator.counts();
      t.diagnostic(
        `seed ${SEED}: ${victim.id} killed; metered ${answered}, charged ${used}, stranded ${used - answered}, ` +
          `bound ${granted} granted; ${tallyOf(calls)}`,
      );
      assert.ok(used >= answered, `charged ${used}, and the provider answered ${answered}`);
      assertWithin(used, { lower, upper: upper + granted }, `after the kill of ${victim.id}, seed ${SEED}`);
    }
  });
}

test("an isolated node spends what it was granted and no more; after it reconnects, everything is accounted for", async (t) => {
  for (const budget of scarce) {
    await resetCounts(simulator);
    const leader = await leaderOf(gateways.member(0));
    const cut = random.pick(members);
    const others = members.filter((member) => member !== cut);
    const kind = random.pick(["cut", "silent"] as const);
    const calls: Called[] = [
      ...(await callAll(
        Array.from({ length: STRETCH }, () => placedAt(members, budget)),
        simulator,
        CLIENTS,
      )),
    ];
    for (const { id } of others) links.between(cut.id, id, { kind });
    const { granted } = await mustHaveRow(cut, budget);
    const alone = await spendUp([cut], budget);
    await until("a leader without it", async () => {
      const known = await Promise.all(others.map(leaderOf));
      return known.every((id) => id !== cut.id && id === known[0]);
    });
    const together = await spendUp(others, budget);
    calls.push(...alone, ...together);
    const answered = calls.filter(({ end }) => end === "completed").length;
    links.heal();
    await until(
      `${cut.id} back`,
      async () => (await Promise.all(members.map(leaderOf))).every((id, _, [first]) => id === first),
      SLOW_MS,
    );
    const used = await usedOf(budget);
    const spentAlone = alone.filter(({ end }) => end === "completed").length;
    t.diagnostic(
      `seed ${SEED}: ${cut.id}${cut.id === leader ? ", which led," : ""} ${kind}; it spent ${spentAlone} of ${granted} granted; ` +
        `metered ${answered}, charged ${used}, limit ${SCARCE}, overspent ${Math.max(0, used - SCARCE)}, bound 0, ` +
        `stranded ${SCARCE - used}`,
    );
    assert.ok(spentAlone <= granted, `${spentAlone} alone, and ${granted} granted to all`);
    assert.equal(used, answered);
    assert.ok(used <= SCARCE);
    assert.equal(simulator.counts().answered, answered);
  }
});

/** Calls each member sequentially until it refuses for lack of units. */
async function spendUp(among: readonly Member[], budget: string): Promise<readonly Called[]> {
  const calls: Called[] = [];
  for (const member of among) {
    await until(
      `the end of the allowance of ${member.id}`,
      async () => {
        const { plan, key } = placedAt([member], budget);
        const called = await call(plan, { member, key, simulator });
        calls.push(called);
        if (called.end === "completed") return false;
        assertRefused(called);
        return called.code === "budget_exhausted" || among.length === 1;
      },
      SLOW_MS,
    );
  }
  return calls;
}

function assertRefused(called: Called): void {
  if (called.code === "budget_exhausted") assert.equal(called.status, 429);
  else assertUnavailable(called);
}
