import assert from "node:assert/strict";
import { request } from "node:http";
import { test } from "node:test";
import { type Callback, listenForCallback } from "../../../src/cli/sign-in/callback-listener.ts";
import { atEnd, type Owner } from "../../e2e/support/wait.ts";

const STATE = "the-state";
const LIMIT_MS = 5_000;

async function listen(owner: Owner): Promise<Callback> {
  const callback = await listenForCallback();
  atEnd(owner, () => callback.close());
  return callback;
}

/** Returns the status of a raw request to the listener. */
function ask(url: string, options: { readonly method?: string; readonly host?: string } = {}): Promise<number> {
  const { method = "GET", host } = options;
  return new Promise((resolve, reject) => {
    const headers = host === undefined ? {} : { host };
    const outgoing = request(
      url,
      { method, headers, agent: false, signal: AbortSignal.timeout(LIMIT_MS) },
      (answer) => {
        answer.resume();
        resolve(answer.statusCode ?? 0);
      },
    );
    outgoing.once("error", reject);
    outgoing.end();
  });
}

test("only GET /callback with the right state and host is accepted; nothing else ends the wait", async (t) => {
  const callback = await listen(t);
  const arriving = callback.wait(STATE, new AbortController().signal);
  const { origin, host } = new URL(callback.redirectUri);
  const right = `${callback.redirectUri}?code=c&state=${STATE}`;
  const wrong: readonly (readonly [url: string, options?: { method?: string; host?: string }])[] = [
    [`${callback.redirectUri}?code=c&state=other`],
    [`${callback.redirectUri}?code=c&state=${STATE}&state=${STATE}`],
    [`${callback.redirectUri}?code=c`],
    [callback.redirectUri],
    [`${origin}/callback/?code=c&state=${STATE}`],
    [`${origin}/?code=c&state=${STATE}`],
    [`${origin}/favicon.ico`],
    [right, { method: "POST" }],
    [right, { method: "HEAD" }],
    [right, { host: "rebound.example" }],
    [right, { host: host.replace("127.0.0.1", "localhost") }],
  ];
  for (const [url, options] of wrong) assert.equal(await ask(url, options), 404, `${options?.method} ${url}`);

  const answered = fetch(right);
  const arrival = await arriving;
  assert.equal(arrival.url.href, right);
  // The browser waits for the outcome, and a second answer is refused.
  assert.equal(await ask(right), 404);
  await arrival.show({ title: "Done", message: `a < b & "c"` });
  const page = await answered;
  assert.equal(page.status, 200);
  assert.match(page.headers.get("content-security-policy") ?? "", /^default-src 'none'/);
  assert.equal(page.headers.get("cache-control"), "no-store");
  assert.ok((await page.text()).includes("<p>a &lt; b &amp; &quot;c&quot;</p>"));
});

test("without a waiting sign-in no callback is answered", async (t) => {
  const callback = await listen(t);
  assert.equal(await ask(`${callback.redirectUri}?code=c&state=${STATE}`), 404);
});

test("the callback listens on loopback alone, and only while it is open", async () => {
  const callback = await listenForCallback();
  assert.match(callback.redirectUri, /^http:\/\/127\.0\.0\.1:\d+\/callback$/);
  await callback.close();
  await assert.rejects(ask(callback.redirectUri), /ECONNREFUSED/);
});

test("an aborted wait rejects with the reason", async (t) => {
  const callback = await listen(t);
  const stop = new AbortController();
  const waiting = callback.wait(STATE, stop.signal);
  const reason = new Error("enough");
  stop.abort(reason);
  await assert.rejects(waiting, (error) => error === reason);
  await assert.rejects(callback.wait(STATE, stop.signal), (error) => error === reason);
});
