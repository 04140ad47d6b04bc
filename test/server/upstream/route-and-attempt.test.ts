import assert from "node:assert/strict";
import test from "node:test";
import { setImmediate as nextTurn } from "node:timers/promises";
import type { CredentialAttemptOptions } from "../../../src/server/upstream/attempt-with-credential.ts";
import { routeAndAttempt } from "../../../src/server/upstream/route-and-attempt.ts";
import type { Routed } from "../../../src/server/upstream/server.ts";

for (const leaves of ["before", "while"] as const) {
  test(`a picker that fails is of no consequence if the client left ${leaves} it decided`, async (context) => {
    const unhandled: unknown[] = [];
    const onUnhandled = (reason: unknown): void => void unhandled.push(reason);
    process.on("unhandledRejection", onUnhandled);
    context.after(() => process.off("unhandledRejection", onUnhandled));

    let fail: (error: Error) => void = () => undefined;
    const routed = new Promise<Routed>((_, reject) => {
      fail = reject;
    });
    const client = clientOf(leaves === "before");
    const outcomes: string[] = [];
    routeAndAttempt(
      { origins: { route: () => routed }, channel: {} as never, subset: undefined, requestId: undefined },
      { method: "POST", path: "/", headers: [], body: null },
      client.downstream,
      OPTIONS,
      ({ kind }) => outcomes.push(kind),
    );
    client.leave();
    await nextTurn();
    fail(new Error("gRPC cannot be loaded"));
    await nextTurn();
    assert.deepEqual(outcomes, ["abandoned"]);
    assert.deepEqual(unhandled, []);
  });
}

/** The client leaves before any of these is used, except for `onWait`. */
const OPTIONS = { onWait: () => undefined } as unknown as CredentialAttemptOptions;

function clientOf(isGone: boolean) {
  let onGone: (() => void) | undefined;
  const unexpected = (): never => assert.fail("nothing is sent to a client that has left");
  return {
    leave: () => onGone?.(),
    downstream: {
      isGone,
      onGone(listener: (() => void) | undefined) {
        onGone = listener;
      },
      start: unexpected,
      write: unexpected,
      onDrain: unexpected,
      end: unexpected,
      breakOff: unexpected,
    },
  };
}
