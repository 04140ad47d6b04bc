import assert from "node:assert/strict";
import { readFile, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import test from "node:test";
import { fail, type Hub, raw, sha256 } from "./support/hub.ts";
import {
  declarationOf,
  FILES,
  faultOf,
  fetched,
  folder,
  GRAPH,
  hubOf,
  largeFrom,
  leftovers,
  never,
  REPO,
  setting,
  storeIn,
} from "./support/store.ts";

/** Answers of a gated or private repository, and the operator's message. */
test("a refusal comes with the remedy", async (t) => {
  const { hub, directory, commit } = await setting(t);
  const repository = hub.repositories.get(REPO);
  assert.ok(repository);
  repository.gated = true;
  const without = await faultOf(fetched(t, hub, directory, commit));
  assert.deepEqual(
    [without.fault, /accept its terms on its page, and set `token`/.test(without.message)],
    ["denied", true],
  );
  const wrong = "hf_wrongwrongwrongwrongwrongwrongwrong";
  const refused = await faultOf(fetched(t, hub, directory, commit, { token: wrong }));
  assert.match(refused.message, /the account of the token has no access/);
  assert.doesNotMatch(refused.message, /wrongwrong/);
  await fetched(t, hub, directory, commit, { token: hub.token });

  const absent = await faultOf(
    storeIn(t, directory).store.resolve(
      { name: "n", hub: { repo: "o/none", revision: commit, endpoint: hub.endpoint } },
      "whole",
      never(),
    ),
  );
  assert.deepEqual([absent.fault, /not found, or it needs a token/.test(absent.message)], ["denied", true]);
  const revision = await faultOf(
    storeIn(t, directory).store.resolve(declarationOf(hub, "d".repeat(40)), "whole", never()),
  );
  assert.deepEqual(
    [revision.fault, /has no such revision \(Invalid rev id: d{40}\)/.test(revision.message)],
    ["absent", true],
  );
  hub.fault = (_seen, answer) =>
    fail(answer, 401, undefined, `Invalid credentials for ${wrong} in Authorization header`);
  const invalid = await faultOf(
    storeIn(t, directory).store.resolve(declarationOf(hub, commit, { token: wrong }), "text", never()),
  );
  assert.match(invalid.message, /the token is refused/);
  assert.doesNotMatch(invalid.message, /wrongwrong/);
});

test("a temporary failure is retried after the requested time", async (t) => {
  const { hub, commit, store, waits } = await setting(t);
  const faults: ((answer: Parameters<Hub["fault"]>[1]) => unknown)[] = [
    (answer) => fail(answer, 500),
    (answer) => raw(answer, 429, { "retry-after": 7 }),
    (answer) => raw(answer, 429, { ratelimit: '"api";r=0;t=41' }),
    (answer) => void answer.destroy(),
  ];
  hub.fault = (_seen, answer) => {
    const next = faults.shift();
    next?.(answer);
    return next !== undefined;
  };
  await store.resolve(declarationOf(hub, commit), "whole", never());
  assert.deepEqual(waits, [1_000, 7_000, 42_000, 8_000]);

  waits.length = 0;
  hub.fault = (_seen, answer) => fail(answer, 503);
  const { fault, message } = await faultOf(store.resolve(declarationOf(hub, commit), "whole", never()));
  assert.deepEqual([fault, /status 503/.test(message), waits], ["unreachable", true, [1_000, 2_000, 4_000, 8_000]]);
});

test("a broken download resumes where it stopped, as long as it makes progress", async (t) => {
  const { hub, directory, commit } = await setting(t);
  const data = FILES["onnx/model.onnx_data"];
  const ranges: (string | undefined)[] = [];
  largeFrom(hub, (seen, answer, request) => {
    if (!seen.path.startsWith(`/${sha256(data)}`)) return false;
    ranges.push(seen.range);
    const from = Number(/\d+/.exec(seen.range ?? "")?.[0] ?? 0);
    if (from >= 180_000) return false;
    const isPartial = seen.range !== undefined;
    answer.writeHead(isPartial ? 206 : 200, {
      "content-length": data.length - from,
      ...(isPartial && { "content-range": `bytes ${from}-${data.length - 1}/${data.length}` }),
    });
    answer.write(data.subarray(from, from + 20_000), () => request.socket.destroy());
    return true;
  });
  const view = await fetched(t, hub, directory, commit);
  assert.deepEqual(await readFile(join(view.directory, "onnx/model.onnx_data")), data);
  assert.equal(ranges[0], undefined);
  assert.ok(ranges.length >= 10, `${ranges.length} requests`);
  assert.ok(ranges.slice(1).every((range) => /^bytes=\d+-$/.test(range ?? "")));
  assert.deepEqual(await leftovers(directory), []);
});

/** Answers to a range request of servers that send the whole file in the end. */
const RESUMED: readonly [string, Hub["fault"]][] = [
  ["knows no ranges", (_s, answer) => raw(answer, 200, {}, GRAPH)],
  ["says 416", (_s, answer) => fail(answer, 416)],
  ["goes on elsewhere", (_s, answer) => raw(answer, 206, { "content-range": `bytes 5-9/${GRAPH.length}` }, "12345")],
  [
    "has another file by now",
    (_s, answer) => raw(answer, 206, { "content-range": "bytes 1000-1999/2000" }, Buffer.alloc(1_000)),
  ],
  [
    "has another tag by now",
    (_s, answer) =>
      raw(
        answer,
        206,
        { etag: '"b"', "content-range": `bytes 1000-${GRAPH.length - 1}/${GRAPH.length}` },
        Buffer.alloc(GRAPH.length - 1_000),
      ),
  ],
];

test("a server that cannot resume is asked for the whole file", async (t) => {
  const [hub] = await Promise.all([hubOf(t)]);
  const commit = hub.commit(REPO, FILES);
  for (const [why, resumed] of RESUMED) {
    const directory = await folder(t);
    let first = true;
    let second = true;
    largeFrom(hub, (seen, answer, request) => {
      if (!seen.path.startsWith(`/${sha256(GRAPH)}`)) return false;
      if (first) {
        first = false;
        answer.writeHead(200, { etag: '"a"', "content-length": GRAPH.length });
        answer.write(GRAPH.subarray(0, 1_000), () => request.socket.destroy());
        return true;
      }
      if (!second) return false;
      second = false;
      assert.equal(seen.range, "bytes=1000-", why);
      return resumed(seen, answer, request);
    });
    const view = await fetched(t, hub, directory, commit);
    assert.deepEqual(await readFile(view.graph ?? ""), GRAPH, why);
  }
});

test("an interrupted download is resumed by the next one, and a damaged beginning is discarded", async (t) => {
  const { hub, directory, commit } = await setting(t);
  const stop = new AbortController();
  largeFrom(hub, (seen, answer) => {
    if (!seen.path.startsWith(`/${sha256(GRAPH)}`)) return false;
    answer.writeHead(200, { "content-length": GRAPH.length });
    answer.write(GRAPH.subarray(0, 100_000));
    return true;
  });
  const { store } = storeIn(t, directory);
  const manifest = await store.resolve(declarationOf(hub, commit), "whole", never());
  let done = 0;
  const ensuring = store.ensure(manifest, {
    signal: stop.signal,
    onProgress(progress) {
      done = progress.done;
      if (done > 100_000) stop.abort(new Error("enough"));
    },
  });
  await assert.rejects(ensuring, /enough/);
  const [part] = await leftovers(directory);
  assert.ok(part?.endsWith(".part"), `${part}`);

  hub.fault = () => false;
  hub.seen.length = 0;
  const view = await fetched(t, hub, directory, commit);
  assert.deepEqual(await readFile(view.graph ?? ""), GRAPH);
  assert.equal(hub.seen.find(({ path }) => path.startsWith(`/${sha256(GRAPH)}`))?.range, "bytes=100000-");

  await rm(join(directory, "sha256", sha256(GRAPH)));
  await rm(view.graph ?? "");
  await writeFile(join(directory, "parts", `${sha256(GRAPH)}.abc.part`), Buffer.alloc(150_000, 1));
  hub.seen.length = 0;
  await fetched(t, hub, directory, commit);
  const graphRequests = hub.seen.filter(({ path }) => path.startsWith(`/${sha256(GRAPH)}`)).map(({ range }) => range);
  assert.deepEqual(graphRequests, ["bytes=150000-", undefined]);
  assert.deepEqual(await leftovers(directory), []);
});

test("a server that falls silent is disconnected and asked again", async (t) => {
  const { hub, directory, commit } = await setting(t);
  let isSilent = true;
  largeFrom(hub, (_seen, answer) => {
    if (!isSilent) return false;
    isSilent = false;
    answer.writeHead(200, { "content-length": GRAPH.length });
    answer.flushHeaders();
    return true;
  });
  const { store, waits } = storeIn(t, directory, { silenceMs: 100 });
  const manifest = await store.resolve(declarationOf(hub, commit), "whole", never());
  const view = await store.ensure(manifest, { signal: never() });
  assert.deepEqual(await readFile(view.graph ?? ""), GRAPH);
  assert.deepEqual(waits, [1_000]);
});
