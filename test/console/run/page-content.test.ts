/** Pages with reads of their own: their requests, and the result of an answer or refusal. */

import assert from "node:assert/strict";
import { test } from "node:test";
import { AdminError, createAdminClient } from "../../../src/admin-api/index.ts";
import type { DocumentPageRequest } from "../../../src/console/model/page-request.ts";
import { textOfLine } from "../../../src/console/model/text.ts";
import { loadPage } from "../../../src/console/run/page-content.ts";
import { atEnd, type Owner } from "../../e2e/support/wait.ts";
import { answer, type Handler, type Peer, refuse, startPeer } from "../watch/support/peer.ts";

const DOCUMENTS: Readonly<Record<string, { readonly document: string; readonly revision: number }>> = {
  "/sources/default": { document: "version: 3\n", revision: 3 },
  "/sources/default/revisions/2": { document: "version: 2\n", revision: 2 },
};

const documents: Handler = (path, response) => {
  const found = DOCUMENTS[path];
  if (found === undefined) refuse(response, 404, "not_found");
  else answer(response, { ...found, name: "default" });
};

interface Loading {
  readonly peer: Peer;
  load(request: DocumentPageRequest, signal?: AbortSignal): Promise<string>;
}

async function start(owner: Owner, handler: Handler): Promise<Loading> {
  const peer = await startPeer(owner, "a", handler);
  const client = createAdminClient({ address: peer.endpoint.endpoint });
  atEnd(owner, () => client.close());
  const ports = {
    readDocument: (file: string) =>
      file === "unreadable" ? Promise.reject(new Error("no such file")) : Promise.resolve(`# ${file}\nversion: 4\n`),
  };
  return {
    peer,
    async load(request, signal = new AbortController().signal) {
      return (await loadPage(request, { client, ports, signal })).map(textOfLine).join("\n");
    },
  };
}

test("a document page has the active revision or the requested one", async (t) => {
  const { load } = await start(t, documents);
  assert.match(await load({ kind: "document", source: "default" }), /version: 3/);
  assert.match(await load({ kind: "document", source: "default", revision: 2 }), /version: 2/);
});

/** Answers of a node to a reload preview. */
const reloads: Handler = (path, response, request) => {
  if (path !== "/reload?dry_run=true") return documents(path, response, request);
  const differences = [{ path: "providers.acme-chat", kind: "removed" }];
  const file_status = { state: "diverged", message: "", remedy: "" };
  answer(response, { applied: false, revision: 3, file_status, differences, warnings: [] });
};

test("a reload page shows changed objects, and the local file compared with the stored document", async (t) => {
  const { load, peer } = await start(t, reloads);
  const page = await load({ kind: "reload", source: "default", file: "/etc/d.yaml" });
  assert.match(page, /1 difference: 0 added, 1 removed, 0 changed\n- removed providers\.acme-chat/);
  assert.match(page, /--- revision 3\n\+\+\+ \/etc\/d\.yaml\n@@.*\n-version: 3\n\+# .*\n\+version: 4/);
  const first = await load({ kind: "reload", source: "none-yet", file: "/etc/d.yaml" });
  assert.match(first, /--- nothing\n[\s\S]*\+version: 4/);
  const elsewhere = await load({ kind: "reload", source: "default", file: undefined });
  assert.match(elsewhere, /- removed providers\.acme-chat/);
  assert.doesNotMatch(elsewhere, /@@/);
  const unreadable = await load({ kind: "reload", source: "default", file: "unreadable" });
  assert.match(unreadable, /acme-chat[\s\S]*lines are not shown: no such file/);
  assert.ok(peer.received.every(({ path, request }) => request.method === "GET" || path === "/reload?dry_run=true"));
});

test("a node of an earlier version is compared line by line", async (t) => {
  const { load } = await start(t, (path, response, request) =>
    path.startsWith("/reload") ? refuse(response, 400, "invalid") : documents(path, response, request),
  );
  const page = await load({ kind: "reload", source: "default", file: "/etc/d.yaml" });
  assert.match(page, /The changed values are not known: the node runs an earlier version\.\n\n[\s\S]*\+version: 4/);
});

const model = (name: string, provider: string) => ({
  model: name,
  kind: name.endsWith("*") ? "pattern" : "name",
  provider,
  upstream_model: null,
  dialects: ["compat"],
  failover: ["stays"],
});

test("the removal page of a source lists what only it defines, and the models and keys that lose it", async (t) => {
  const bodies: string[] = [];
  const { load } = await start(t, (path, response, request) => {
    if (path === "/models") {
      const models = [model("judge-1", "gone"), model("acme-1", "gone"), model("acme-*", "stays"), model("x", "stays")];
      return answer(response, { items: models, revision: 1 });
    }
    if (path === "/profiles") {
      const profile = (name: string, keys: number) => ({
        name,
        budget: null,
        allowed_models: [],
        require_caps: [],
        access_rules: 0,
        detectors: null,
        keys,
      });
      return answer(response, { items: [profile("evals", 3), profile("kept", 9), profile("idle", 0)], revision: 1 });
    }
    request.setEncoding("utf8").on("data", (part) => bodies.push(part));
    request.on("end", () => {
      const differences = ["providers.gone", "profiles.evals", "profiles.idle"].map((it) => ({
        path: it,
        kind: "removed",
      }));
      answer(response, { name: "team", revision: 2, changed: true, differences, warnings: [] });
    });
  });
  const page = await load({ kind: "removal", source: "team" });
  assert.match(
    page,
    /^! 1 model left with no provider: judge-1\n! 3 keys refused, since their profile is gone: 3 of evals\n/,
  );
  assert.match(page, /3 differences: 0 added, 3 removed, 0 changed\n- removed providers\.gone/);
  assert.deepEqual(bodies, ["{}"]);
});

test("a removal that would be refused gives the reason", async (t) => {
  const { load } = await start(t, (path, response) =>
    path.startsWith("/sources")
      ? answer(response, { error: { code: "refused", message: "profiles[0].budget: there is no budget `day`" } }, 422)
      : refuse(response, 403, "forbidden"),
  );
  assert.match(await load({ kind: "removal", source: "team" }), /Refused.*\n.*there is no budget `day`/);
});

test("a difference is against the active revision unless another is named", async (t) => {
  const { load } = await start(t, documents);
  const page = await load({ kind: "difference", source: "default", from: 2 });
  assert.match(page, /--- revision 2\n\+\+\+ revision 3\n@@.*\n-.*version: 2\n\+.*version: 3/);
});

test("a refusal rejects with the gateway's message", async (t) => {
  const { load } = await start(t, documents);
  await assert.rejects(
    load({ kind: "difference", source: "default", from: 1 }),
    (error) => error instanceof AdminError && error.code === "not_found",
  );
});

const PREVIEW = {
  name: "default",
  revision: 4,
  version: 4,
  changed: true,
  dry_run: true,
  differences: [],
  warnings: [],
};

test("a preview sends the text of a file or the number of a revision, and writes neither", async (t) => {
  const bodies: string[] = [];
  const { load, peer } = await start(t, (path, response, request) => {
    if (request.method === "GET") return documents(path, response, request);
    let body = "";
    request.setEncoding("utf8").on("data", (part) => {
      body += part;
    });
    request.on("end", () => {
      bodies.push(body);
      answer(response, PREVIEW);
    });
  });
  const ofFile = await load({ kind: "preview", source: "default", from: { file: "a.yaml" } });
  const ofRevision = await load({ kind: "preview", source: "default", from: { revision: 2 } });
  if (PREVIEW.changed) {
    assert.match(ofFile, /--- revision 4\n\+\+\+ a\.yaml\n@@.*\n-version: 3\n\+# a\.yaml\n\+version: 4/);
    assert.match(ofRevision, /\+\+\+ revision 2\n@@.*\n-version: 3\n\+version: 2/);
  }
  assert.deepEqual(bodies, ["# a.yaml\nversion: 4\n", '{"revision":2}']);
  assert.deepEqual(
    peer.received.flatMap(({ path, request }) => (request.method === "GET" ? [] : [[request.method, path]])),
    [
      ["PUT", "/sources/default?dry_run=true"],
      ["POST", "/sources/default/rollback?dry_run=true"],
    ],
  );
});

test("a document that would be refused has a page of its problems", async (t) => {
  const { load } = await start(t, (_path, response) =>
    answer(response, { error: { code: "refused", message: "providers: unknown field `nane`" } }, 422),
  );
  assert.match(await load({ kind: "preview", source: "default", from: { file: "a.yaml" } }), /unknown field `nane`/);
});

test("a load ends with its signal", async (t) => {
  const stop = new AbortController();
  const { load } = await start(t, () => stop.abort());
  await assert.rejects(load({ kind: "document", source: "default" }, stop.signal));
});

test("a changed object is shown with old and new fields, without possible credentials", async (t) => {
  const document = "providers:\n  - name: acme.eu\n    timeout: 10s\n    retry: { attempts: 2 }\n    api_key: one\n";
  const next =
    "providers:\n  - name: acme.eu\n    timeout: 20s\n    retry: { attempts: 2, base: 1s }\n    api_key: two\n";
  const peer = await startPeer(t, "a", (_path, response, request) => {
    if (request.method === "GET") return answer(response, { document, revision: 118, name: "default" });
    const differences = [{ path: "providers.acme.eu", kind: "changed" }];
    return answer(response, { name: "default", revision: 118, changed: true, differences, warnings: [] });
  });
  const client = createAdminClient({ address: peer.endpoint.endpoint });
  atEnd(t, () => client.close());
  const ports = { readDocument: () => Promise.resolve(next) };
  const { signal } = new AbortController();
  const lines = await loadPage({ kind: "preview", source: "default", from: { file: "a" } }, { client, ports, signal });
  const page = lines.map(textOfLine).join("\n");
  assert.match(page, /~ changed providers\.acme\.eu\n {4}timeout: "10s" -> "20s"\n {4}retry\.base: \(none\) -> "1s"\n/);
  assert.match(page, /^- {4}timeout: 10s$/m);
  assert.doesNotMatch(page, /one\b(?!\))|two/);
});

test("uses of a secret are listed by source, line and key, and unreadable ones are named", async (t) => {
  const { load } = await start(t, (path, response) => {
    if (path === "/sources") {
      const source = (name: string) => ({
        name,
        revision: 1,
        writer: "api",
        updated_at: "",
        by: "",
        state: "running",
        message: null,
      });
      return answer(response, { items: ["default", "team"].map(source), index: 1 });
    }
    if (path === "/sources/team") return refuse(response, 403, "forbidden");
    return answer(response, {
      name: "default",
      revision: 1,
      document: "a: 1\nproviders:\n  - api_key: ${secret:ACME}\n",
    });
  });
  const page = await load({ kind: "secret_uses", names: ["ACME"] });
  assert.match(page, /1 place that names it:\n! default 3 {2}api_key: \$\{secret:ACME\}\nnot read: team/);
  assert.match(await load({ kind: "secret_uses", names: ["OTHER"] }), /No source names it/);
});
