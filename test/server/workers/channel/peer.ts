/** The other process in the channel's tests. */
import { Socket } from "node:net";
import { GatewayError } from "../../../../src/base/index.ts";
import { openChannel } from "../../../../src/server/workers/index.ts";

const channel = openChannel(new Socket({ fd: 3 }), () => process.exit(3));
void channel.closed.then(() => process.exit(0));

const seen: unknown[] = [];
channel.on("number", (body) => seen.push(body));
channel.answer("seen", () => seen);
channel.answer("echo", (body) => body);
channel.answer("refuse", () => {
  throw new GatewayError("budget_exhausted", "The budget is spent.", {
    retryAfterSeconds: 7,
    by: { kind: "budget", name: "b" },
  });
});
channel.answer("fail", () => Promise.reject(new Error("broken")));
channel.answer("wait", async (_, signal) => {
  await new Promise((resolve) => signal.addEventListener("abort", resolve, { once: true }));
  channel.send("left", "nobody waits");
});
channel.on("block", (body) => {
  const until = Date.now() + Number(body);
  while (Date.now() < until);
});
