// tier: all
/**
 * A reference to an item that another node stores, while that node hangs, after it continues, and after it was killed.
 * Source: design decisions, section 18 (`item_reference`).
 */
import assert from "node:assert/strict";
import { after, test } from "node:test";
import { eventually } from "../support/wait.ts";
import { startResponding } from "./support/responding.ts";

test("a node that hangs makes a request one to repeat, and a node that is gone makes it invalid", async () => {
  const { nodes, key } = await startResponding({ after }, ["n1", "n2"]);
  const [here, there] = nodes;
  assert.ok(here && there);
  const create = async (url: string, input: unknown) => {
    const response = await fetch(`${url}/v1/responses`, {
      method: "POST",
      headers: { authorization: `Bearer ${key}`, "content-type": "application/json" },
      body: JSON.stringify({ model: "chat/sim-small", input }),
    });
    const body = (await response.json()) as Answer;
    return { status: response.status, body, mayRetry: response.headers.get("x-should-retry") !== "false" };
  };
  const question = { role: "user", content: "Hello" };
  const first = await create(there.gateway.url, [question]);
  assert.equal(first.status, 200, JSON.stringify(first.body));
  const id = first.body.output?.[0]?.id ?? assert.fail("an item with an id");
  const refer = () => create(here.gateway.url, [question, { type: "item_reference", id }, question]);
  const succeeds = async () => (await refer()).status === 200;
  await eventually("the item of the other node", succeeds);

  there.gateway.signal("SIGSTOP");
  const hanging = await refer();
  assert.deepEqual([hanging.status, hanging.body.error?.code, hanging.mayRetry], [503, "overloaded", true]);
  assert.match(hanging.body.error?.message ?? "", /did not say in time.*Try again\.$/);

  there.gateway.signal("SIGCONT");
  await eventually("the item of the node that continues", succeeds);

  there.gateway.signal("SIGKILL");
  await there.gateway.ended;
  const gone = await eventually("the answer about a node that is gone", async () => {
    const answer = await refer();
    return answer.status !== 503 && answer;
  });
  assert.equal(gone.status, 400);
  assert.match(gone.body.error?.message ?? "", /stored_responses/);
});

interface Answer {
  readonly output?: readonly { readonly id: string }[];
  readonly error?: { readonly code: string; readonly message: string };
}
