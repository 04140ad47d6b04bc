/** Access to parts of a rehearsal, by policy. */
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import type { OperationId } from "../../../src/admin-api/index.ts";
import type { HandlerCall } from "../../../src/server/admin/handler-types.ts";
import { HANDLERS } from "../../../src/server/admin/handlers.ts";
import { callOf, handlerPorts } from "./support/handler-ports.ts";
import { REHEARSED } from "./support/memory-rehearsals.ts";

const permitting =
  (...actions: readonly OperationId[]): HandlerCall<"rehearse">["may"] =>
  (action) =>
    actions.includes(action);

describe("rehearsal over the admin API", () => {
  test("gives request ids to callers that may list requests, and counts to all", async () => {
    const asked = async (may: HandlerCall<"rehearse">["may"]) =>
      (await HANDLERS.rehearse({ ...callOf("rehearse", { body: {} }), may }, handlerPorts())).value;
    assert.deepEqual(await asked(permitting("rehearse", "list_requests")), REHEARSED);
    assert.deepEqual(await asked(permitting("rehearse")), { ...REHEARSED, examples: null });
  });

  test("comes with a dry run for callers that may rehearse, and never with a write", async () => {
    const put = async (query: object, may: HandlerCall<"put_source">["may"]) => {
      const call = callOf("put_source", { params: { name: "default" }, query, body: "version: 1" });
      return (await HANDLERS.put_source({ ...call, may }, handlerPorts())).value;
    };
    const both = { dry_run: true, rehearse: true };
    assert.deepEqual((await put(both, permitting("rehearse", "list_requests"))).rehearsal, REHEARSED);
    assert.deepEqual((await put(both, permitting("rehearse"))).rehearsal?.examples, null);
    assert.equal((await put({ dry_run: true }, permitting())).rehearsal, undefined);
    await assert.rejects(put(both, permitting()), /does not permit rehearse/);
    await assert.rejects(put({ rehearse: true }, permitting("rehearse")), /needs `dry_run=true`/);
  });
});
