/**
 * A peer that sends any messages in any order: answers are always in order, no byte passes before it was inspected, and
 * nothing is sent after the last message.
 */
import assert from "node:assert/strict";
import { test } from "node:test";
import { GatewayError } from "../../../../src/base/index.ts";
import type { Arrival, ExchangeOptions, PeerMode, Verdict } from "../../../../src/server/inspector/exchange/index.ts";
import { randomRuns } from "../../../support/random-length.ts";
import { body, exchange, headers, response, trailers } from "./support.ts";

const SEED = Number(process.env["SEED"] ?? Math.floor(Math.random() * 2 ** 31));
const RUNS = randomRuns(20_000);

function random(seed: number): (below: number) => number {
  let state = seed >>> 0;
  return (below) => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) % below;
  };
}

const MODES: readonly PeerMode[] = ["none", "streamed", "buffered", "buffered_partial", "duplex"];

test(`messages in any order are answered correctly (SEED=${SEED})`, () => {
  const below = random(SEED);
  const one = <Item>(items: readonly Item[]): Item => items[below(items.length)] as Item;
  const arrival = (): Arrival =>
    one([
      headers(below(3) === 0, one([undefined, ...MODES]), one(MODES)),
      body("x".repeat(below(5)), below(3) === 0),
      trailers,
      response.headers(below(4) === 0),
      response.body("r".repeat(below(3)), below(3) === 0),
      response.trailers,
    ]);
  const verdict = (): Verdict =>
    one<Verdict>([
      { kind: "allow" },
      { kind: "rewrite", body: Buffer.from("rewritten") },
      { kind: "refuse", error: new GatewayError("guardrail_denied", "No.") },
    ]);
  const reached = new Set<string>();

  for (let run = 0; run < RUNS; run++) {
    const mode: ExchangeOptions["mode"] = one(["streamed", "duplex"]);
    const peer = exchange({ mode });
    let isDecided = false;
    let chunksIn = 0;
    let chunksOut = 0;
    let isOver = false;
    const log: string[] = [];
    for (let step = 0; step < 12; step++) {
      // Mostly in order, since other runs end early.
      const what = step === 0 && below(4) > 0 ? headers(below(4) === 0) : arrival();
      const isVerdict: boolean = peer.inspected.length > 0 && !isDecided && below(2) === 0;
      const result: readonly string[] = isVerdict
        ? peer.decide(verdict())
        : below(15) === 0
          ? peer.leave()
          : peer.arrive(what);
      if (isVerdict) isDecided = true;
      else if (what.side === "request" && what.kind === "body" && result.length > 0) chunksIn += 1;
      log.push(`${isVerdict ? "verdict" : JSON.stringify(what)} -> ${result.join("; ")}`);
      const text = `seed ${SEED} run ${run} mode ${mode}\n${log.join("\n")}`;
      if (isOver) assert.deepEqual(result, [], text);
      for (const word of result) {
        reached.add(word.replace(/".*"/, ""));
        const goesOn = /^(chunk (itself|")|piece|trailers)/.test(word);
        assert.ok(!goesOn || isDecided, `it goes on before it was judged: ${text}`);
        assert.ok(!/^(chunk|headers ask)/.test(word) || mode === "streamed", `an answer of the other mode: ${text}`);
        assert.ok(!word.startsWith("piece") || mode === "duplex", `an answer of the other mode: ${text}`);
        if (word.startsWith("chunk")) chunksOut += 1;
      }
      assert.ok(chunksOut <= chunksIn, `more answers than chunks: ${text}`);
      isOver ||= result.some((word) => /^(refuse|fail)/.test(word));
      assert.ok(!isOver || peer.isOver(), text);
    }
    assert.ok(peer.inspected.length <= 1, `inspected twice: seed ${SEED} run ${run}`);
  }
  assert.ok(reached.size > 15, `too little was reached: ${[...reached].join(", ")}`);
});
