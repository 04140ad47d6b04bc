/**
 * A path that is not an operation reaches none, however it is spelled, and an operation is authorized alike under each
 * spelling; an unknown field or parameter is refused by its name. Source: design decisions, section 3; RFC 9112,
 * section 3.2.
 */
import assert from "node:assert/strict";
import { before, describe, test } from "node:test";
import { BASE_PATH, type OperationId } from "../../../src/admin-api/index.ts";
import { exchange as rawExchange } from "../support/raw.ts";
import { INPUTS, OPERATION_IDS, operationOf, sendingOf, targetOf } from "./support/inputs.ts";
import { type Issuer, startIssuer } from "./support/issuer.ts";
import { type Plane, startPlane } from "./support/plane.ts";
import { type DoorAddress, exchange, refusedOf, send } from "./support/send.ts";
import { suiteOwner } from "./support/suite.ts";

const METHODS = ["GET", "POST", "PUT", "PATCH", "DELETE"];

/**
 * Changes that proxies, routers and careless joins make to the path of an operation. None of the results is an
 * operation.
 */
const DISTORTIONS: readonly (readonly [what: string, distort: (path: string) => string])[] = [
  ["a slash at its end", (path) => `${path}/`],
  ["a doubled slash before it", (path) => `/${path}`],
  ["a doubled slash in it", (path) => path.replace(BASE_PATH, `${BASE_PATH}/`)],
  ["an encoded slash", (path) => path.replace("/v1/", "/v1%2F")],
  ["an encoded first letter", (path) => path.replace("/admin", "/%61dmin")],
  ["a path with ..", (path) => path.replace("/v1/", "/v1/keys/../")],
  ["a path with encoded ..", (path) => path.replace("/v1/", "/v1/keys/%2e%2e/")],
  ["a path with .", (path) => path.replace("/v1/", "/v1/./")],
  ["upper case", (path) => path.replace("/admin", "/ADMIN")],
  ["a parameter of the path", (path) => path.replace("/v1/", "/v1;a=b/")],
  ["another version", (path) => path.replace("/v1/", "/v2/")],
  ["no version", (path) => path.replace("/v1/", "/")],
  ["an address before it", (path) => `http://localhost${path}`],
  ["an address of another host before it", (path) => `http://attacker.example${path}`],
  ["a zero byte", (path) => path.replace("/v1/", "/v1%00/")],
  ["a backslash", (path) => path.replace("/v1/", "/v1\\")],
];

const bare = (id: OperationId): string => targetOf(id).split("?", 1)[0] ?? "";

/**
 * Whether the distorted path can still be an operation: its last segment is a name, and the appended text may be part
 * of it.
 */
const takesAnything = (id: OperationId): boolean => operationOf(id).path.endsWith("}");

describe("paths and methods", () => {
  const owner = suiteOwner();
  let plane: Plane;
  before(async () => {
    plane = await startPlane(owner);
  });

  for (const [what, distort] of DISTORTIONS) {
    test(`${what} reaches no operation`, async () => {
      for (const id of OPERATION_IDS) {
        const target = distort(bare(id));
        const sending = await sendingOf(id, plane.node.client);
        for (const listener of [plane.local, plane.network]) {
          const { status, text } = await exchange(listener, operationOf(id).method, target, sending);
          const isNamed = takesAnything(id) && status === 400;
          assert.ok(status === 404 || isNamed, `${operationOf(id).method} ${target}: ${status} ${text}`);
          if (isNamed) assert.match(refusedOf({ text }).message, /^The path parameter/);
        }
      }
    });
  }

  test("a wrong method is answered with the methods that the path allows", async () => {
    for (const path of new Set(OPERATION_IDS.map(bare))) {
      const taken = OPERATION_IDS.filter((id) => bare(id) === path).map((id) => operationOf(id).method);
      for (const method of [...METHODS.filter((it) => !taken.some((own) => own === it)), "OPTIONS", "QUERY"]) {
        const { status, headers, text } = await send(plane.local, method, path);
        assert.equal(status, 405, `${method} ${path}: ${text}`);
        assert.deepEqual(String(headers["allow"]).split(", ").sort(), taken.toSorted());
        assert.equal(refusedOf({ text }).code, "method_not_allowed");
      }
    }
  });

  test("the request line decides the method, whatever a header says", async () => {
    await INPUTS.get_key.prepare?.(plane.node.client);
    for (const name of ["x-http-method-override", "x-http-method", "x-method-override"]) {
      const { status } = await send(plane.local, "GET", targetOf("get_key"), { headers: { [name]: "DELETE" } });
      assert.equal(status, 200);
    }
    assert.equal((await send(plane.local, "GET", targetOf("get_key"))).status, 200);
  });

  test("HEAD and TRACE reach nothing", async () => {
    for (const path of new Set(OPERATION_IDS.map(bare))) {
      for (const method of ["HEAD", "TRACE"]) {
        const { status } = await exchange(plane.network, method, path);
        assert.ok(status === 405, `${method} ${path}: ${status}`);
      }
    }
  });

  test("a malformed request line and a request without a host are refused", async (t) => {
    const { port } = plane.network;
    for (const request of [
      `GET ${BASE_PATH}/keys HTTP/1.1\r\n\r\n`,
      `GET ${BASE_PATH}/keys HTTP/1.1\r\nHost: localhost\r\nHost: attacker.example\r\n\r\n`,
      `GET ${BASE_PATH}/keys HTTP/1.1\r\nHost: local host\r\n\r\n`,
      `GET ${BASE_PATH}/ke ys HTTP/1.1\r\nHost: localhost\r\n\r\n`,
      `GET ${BASE_PATH}/keys\r\n\r\n`,
      `POST ${BASE_PATH}/keys HTTP/1.1\r\nHost: localhost\r\nContent-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n{}`,
    ]) {
      const { status, body } = await rawExchange(t, port, request);
      assert.equal(status, 400, request);
      assert.equal(refusedOf({ text: body.toString() }).code, "invalid");
    }
  });
});

describe("bodies and parameters", () => {
  const owner = suiteOwner();
  let plane: Plane;
  before(async () => {
    plane = await startPlane(owner);
  });

  /** Returns the name of a known field and a misspelling of it. */
  const misspelt = (id: OperationId): readonly [known: string, wrong: string] => {
    const { body } = operationOf(id);
    assert.ok(body.kind === "json");
    const [known = ""] = Object.keys((body.schema.json["properties"] ?? {}) as object);
    return [known, `${known}_`];
  };

  for (const id of OPERATION_IDS.filter((it) => operationOf(it).body.kind === "json")) {
    test(`${id} names an unknown field and suggests the closest known one`, async () => {
      const [known, wrong] = misspelt(id);
      const { method } = operationOf(id);
      const { status, text } = await send(plane.local, method, targetOf(id), { body: `{"${wrong}":"x"}` });
      assert.equal(status, 400);
      const { code, message, details } = refusedOf({ text });
      assert.equal(code, "invalid");
      assert.ok(message.startsWith(`The field \`${wrong}\` is not known; did you mean \`${known}\`?`), message);
      assert.equal(details["in"], "body");
    });

    test(`${id} refuses a body of another content type, invalid JSON, and any JSON value that is not an object`, async () => {
      const { method } = operationOf(id);
      const attempt = (body: string | Uint8Array, type = "application/json") =>
        send(plane.local, method, targetOf(id), { body, headers: { "content-type": type } });
      for (const type of ["text/plain", "application/x-www-form-urlencoded", "multipart/form-data"]) {
        assert.equal((await attempt("{}", type)).status, 400, type);
      }
      for (const body of ["{", "[]", "null", '"x"', "1", Buffer.from([0x22, 0xff, 0x22]), '{"__proto__":{"a":1}}']) {
        const { status, text } = await attempt(body);
        assert.equal(status, 400, `${body}: ${text}`);
      }
    });
  }

  test("every operation names an unknown query parameter and one that is given twice", async () => {
    for (const id of OPERATION_IDS) {
      const sending = await sendingOf(id, plane.node.client);
      await INPUTS[id].prepare?.(plane.node.client);
      for (const query of ["unknown=1", "wait=1s&wait=2s"]) {
        const { status, text } = await send(plane.local, operationOf(id).method, `${bare(id)}?${query}`, sending);
        assert.equal(status, 400, `${id}?${query}: ${text}`);
        assert.match(refusedOf({ text }).message, /^The query parameter `(?:unknown|wait)` is /);
      }
    }
    const { text } = await send(plane.local, "GET", `${BASE_PATH}/keys?consistant=true`);
    assert.match(refusedOf({ text }).message, /`consistant` is not known; did you mean `consistent`\?/);
  });

  test("an operation without a body refuses one", async () => {
    for (const id of OPERATION_IDS.filter((it) => operationOf(it).body.kind === "none")) {
      const { status, text } = await send(plane.local, operationOf(id).method, targetOf(id), { body: '{"a":1}' });
      assert.ok(status === 400 && /takes no body/.test(text), `${id}: ${status} ${text}`);
    }
  });
});

describe("encodings of forbidden names", () => {
  const owner = suiteOwner();
  let issuer: Issuer;
  let plane: Plane;
  before(async () => {
    issuer = await startIssuer(owner);
    const policy = `
      permit(principal, action, resource);
      forbid(principal, action, resource == Key::"kept");
      forbid(principal, action, resource == Suspension::"provider:kept/one");
    `;
    plane = await startPlane(owner, { issuer: issuer.url, policy, deployment: { providers: [] } });
  });

  test("a forbidden name is refused however it is encoded", async () => {
    const token = await issuer.tokenOf("alice");
    const listeners: readonly DoorAddress[] = [plane.local, plane.network];
    for (const path of ["keys/kept", "keys/%6bept", "keys/k%65pt", "keys/%6B%65%70%74"]) {
      for (const listener of listeners) {
        const { status, text } = await send(listener, "DELETE", `${BASE_PATH}/${path}`, { token });
        assert.equal(status, 403, path);
        assert.equal(refusedOf({ text }).details["resource"], 'Key::"kept"');
      }
    }
    for (const name of ["provider:kept%2Fone", "provider%3Akept%2fone", "provider%3akept%2Fo%6ee"]) {
      const { status, text } = await send(plane.network, "DELETE", `${BASE_PATH}/suspensions/${name}`, { token });
      assert.equal(status, 403, name);
      assert.equal(refusedOf({ text }).details["resource"], 'Suspension::"provider:kept/one"');
    }
    for (const name of ["%70rovider:x", "provider:", ":x", "provider", "provider%253Ax"]) {
      const { status } = await exchange(plane.network, "DELETE", `${BASE_PATH}/suspensions/${name}`, { token });
      assert.ok(status === 404 || status === 400, `${name}: ${status}`);
    }
  });
});
