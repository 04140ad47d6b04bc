import { after, test } from "node:test";
import { startWithFiles, twoDialects } from "./support/config.ts";
import { readMetrics } from "./support/metrics.ts";
import { clientsOf, simulated } from "./support/simulated.ts";
const file = { after };
const provider = await simulated(file);
const gateway = await startWithFiles(file, {
  catalog_overlays: [twoDialects("simulator", provider.url)],
  providers: [{ preset: "simulator", models: ["sim-*"] }],
});
test("x", async () => {
  const c = clientsOf(process.env.DIRECT ? provider.url : gateway.url);
  for (let i = 0; i < 40; i++) {
  const s = await c.openai.chat.completions.create({model:"sim-slow-stream-30s",messages:[{role:"user",content:"x"}],stream:true});
  for await (const x of s) s.controller.abort();
  const e = await c.anthropic.messages.create({model:"sim-slow-stream-30s",max_tokens:99,messages:[{role:"user",content:"x"}],stream:true});
  for await (const x of e) e.controller.abort();
  }
  await new Promise(d=>setTimeout(d,500));
  console.log("b", provider.counts());
  for (const [k,v] of await readMetrics(gateway)) if (/in_flight|requests_total|connections|attempts_total/.test(k)) console.log(k,v);
});
