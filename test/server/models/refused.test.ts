import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import test from "node:test";
import { fail, type Hub, raw, send, sha256 } from "./support/hub.ts";
import {
  declarationOf,
  FILES,
  faultOf,
  fetched,
  filesBelow,
  folder,
  GRAPH,
  hubOf,
  largeFrom,
  leftovers,
  never,
  OTHER,
  REPO,
  setting,
  storeIn,
} from "./support/store.ts";

type Replacements = Hub["replacements"];

const listing = (...siblings: readonly object[]): Replacements => ({ siblings });
const digest = "0".repeat(40);

/** Hub answers about a repository, and the resulting messages. */
const BAD_ANSWERS: readonly [string, Replacements, string, RegExp][] = [
  ["another commit", { sha: "f".repeat(40) }, "mismatch", /answers with commit f{40} in place of/],
  ["a commit in upper case", { sha: "F".repeat(40) }, "refused", /names no commit/],
  ["a disabled repository", { disabled: true }, "denied", /is disabled/],
  ["a file twice", listing({ rfilename: "a", blobId: digest }, { rfilename: "a" }), "refused", /lists a file twice/],
  ...[-1, 1.5, 1e30, "12", undefined].map((size): (typeof BAD_ANSWERS)[number] => [
    `a size of ${JSON.stringify(size)}`,
    listing({ rfilename: "onnx/model.onnx", size, blobId: digest }),
    "refused",
    /size|digest/,
  ]),
  [
    "a graph of 5 GiB",
    listing({ rfilename: "onnx/model.onnx", size: 5 * 1024 ** 3, blobId: digest }),
    "refused",
    /at most 4294967296/,
  ],
  [
    "20,001 files",
    listing(...Array.from({ length: 20_001 }, (_, at) => ({ rfilename: `f${at}`, blobId: digest }))),
    "refused",
    /at most 20000 are read/,
  ],
  [
    "no graph",
    listing({ rfilename: "model.bin", size: 1, blobId: digest }),
    "absent",
    /none of onnx\/model.onnx, model.onnx/,
  ],
];

/** Invalid hub answers. */
const ANSWERED: readonly [string, string | Buffer, RegExp][] = [
  ["a page", "<html>", /not JSON: is it a model hub/],
  ["an empty object", "{}", /names no commit/],
  ["an endless list", Buffer.alloc(11 << 20, " "), /longer than 10485760 bytes/],
];

test("a hub's listing is checked before any fetch", async (t) => {
  const [hub, directory] = await Promise.all([hubOf(t), folder(t)]);
  const declaration = declarationOf(hub, hub.commit(REPO, FILES));
  const { store } = storeIn(t, directory);
  for (const [why, replaced, fault, message] of BAD_ANSWERS) {
    hub.replacements = replaced;
    const found = await faultOf(store.resolve(declaration, "whole", never()));
    assert.equal(found.fault, fault, why);
    assert.match(found.message, message, why);
  }
  for (const [why, body, message] of ANSWERED) {
    hub.fault = (_seen, answer) => raw(answer, 200, {}, body);
    const found = await faultOf(store.resolve(declaration, "whole", never()));
    assert.equal(found.fault, "refused", why);
    assert.match(found.message, message, why);
  }
  assert.deepEqual(await filesBelow(directory), []);
});

const pointer = `version https://git-lfs.github.com/spec/v1\noid sha256:${"0".repeat(64)}\nsize 5\n`;

/** Downloads sent by the content host for a file. */
const SENT: readonly [string, Hub["fault"], string, RegExp][] = [
  [
    "other bytes",
    (_s, answer, request) => send(request, answer, OTHER),
    "mismatch",
    /has the digest sha256:\w{64} in place of sha256:/,
  ],
  [
    "one byte fewer",
    (_s, answer, request) => send(request, answer, GRAPH.subarray(1)),
    "mismatch",
    /has \d+ bytes in place of/,
  ],
  [
    "one byte more",
    (_s, answer) => raw(answer, 200, {}, Buffer.concat([GRAPH, Buffer.of(1)])),
    "mismatch",
    /sends more than the \d+ bytes/,
  ],
  [
    "a pointer",
    (_s, answer) => raw(answer, 200, { "content-length": pointer.length }, pointer),
    "mismatch",
    /a Git LFS pointer instead of the file/,
  ],
  [
    "compressed",
    (_s, answer) => raw(answer, 200, { "content-encoding": "gzip" }, "x"),
    "refused",
    /sent a compressed answer/,
  ],
  [
    "redirects without end",
    (seen, answer) => raw(answer, 302, { location: seen.path }),
    "refused",
    /more than 5 redirects/,
  ],
  [
    "a redirect to a file",
    (_s, answer) => raw(answer, 302, { location: "file:///etc/passwd" }),
    "refused",
    /does not begin with http:/,
  ],
  [
    "a redirect with a user",
    (_s, answer) => raw(answer, 302, { location: "http://a:b@127.0.0.1/" }),
    "refused",
    /with a user/,
  ],
  ["404", (_s, answer) => fail(answer, 404), "absent", /status 404/],
  ["400", (_s, answer) => fail(answer, 400), "refused", /status 400/],
];

test("downloaded data is checked as it arrives, and wrong data leaves nothing behind", async (t) => {
  const [hub, directory] = await Promise.all([hubOf(t), folder(t)]);
  const commit = hub.commit(REPO, FILES);
  for (const [why, fault, kind, message] of SENT) {
    largeFrom(hub, fault);
    const found = await faultOf(fetched(t, hub, directory, commit));
    assert.equal(found.fault, kind, `${why}: ${found.message}`);
    assert.match(found.message, message, why);
    assert.match(found.message, /^model names: /);
    assert.doesNotMatch(found.message, /Signature|hf_/);
    assert.deepEqual(await leftovers(directory), [], why);
    assert.deepEqual(await filesBelow(join(directory, "views")), [], why);
  }
});

test("wrong bytes are requested once more, and accepted if they are then right", async (t) => {
  const { hub, directory, commit } = await setting(t);
  let times = 0;
  largeFrom(hub, (seen, answer, request) => {
    if (!seen.path.startsWith(`/${sha256(GRAPH)}`) || times++ > 0) return false;
    send(request, answer, OTHER);
    return true;
  });
  assert.deepEqual(await readFile((await fetched(t, hub, directory, commit)).graph ?? ""), GRAPH);
  assert.equal(times, 2);
});

test("an answer for another commit is refused before its content", async (t) => {
  const { hub, directory, commit } = await setting(t);
  hub.fault = (seen, answer) => {
    if (!seen.path.includes("/resolve/")) return false;
    answer.writeHead(200, { "x-repo-commit": "e".repeat(40) });
    answer.end("other");
    return true;
  };
  const found = await faultOf(fetched(t, hub, directory, commit));
  assert.match(found.message, /answers with commit e{40} in place of/);
});

test("the redirect of a renamed repository is followed with the token", async (t) => {
  const { hub, directory, commit } = await setting(t);
  hub.fault = (seen, answer) => {
    if (!seen.path.includes("/resolve/") || seen.path.includes("moved")) return false;
    answer.writeHead(307, { location: `/owner/moved/resolve/${commit}/config.json` });
    answer.end();
    return true;
  };
  const found = await faultOf(fetched(t, hub, directory, commit, { token: hub.token }));
  assert.equal(found.fault, "absent");
  assert.ok(hub.seen.some(({ path, authorization }) => path.includes("moved") && authorization !== undefined));
});
