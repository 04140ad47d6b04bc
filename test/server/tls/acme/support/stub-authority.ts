/**
 * An authority without validation: its orders are ready at once, and the test decides what it issues, suggests and
 * refuses. RFC 8555, RFC 9773; signatures are not checked.
 */
import "reflect-metadata";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import * as x509 from "@peculiar/x509";
import { listenLocally } from "../../../../e2e/support/ports.ts";
import { atEnd, type Owner } from "../../../../e2e/support/wait.ts";
import { type Issue, type TestAuthority, testAuthority } from "../../support/authority.ts";

interface AskedOrder {
  readonly names: readonly string[];
  readonly replaces: string | undefined;
}

interface Refusal {
  readonly status: number;
  /** Suffix of `urn:ietf:params:acme:error:`. */
  readonly type: string;
  readonly detail: string;
}

export interface StubAuthority {
  readonly directory: string;
  readonly authority: TestAuthority;
  /** Orders in sequence. */
  readonly orders: AskedOrder[];
  /** Number of created accounts. */
  accounts: number;
  /** Certificates whose renewal information was read. */
  readonly requests: string[];
  /** Offset of its clock from this machine's. */
  aheadMs: number;
  refuse: (order: AskedOrder) => Refusal | undefined;
  /** Issues certificates; of 90 days and as ordered by default. */
  issues: (names: readonly string[], publicKey: x509.PublicKey) => Issue;
  /** Body of renewal information; `undefined` removes it from the directory. */
  renewal: string | undefined;
}

const DAY_MS = 24 * 60 * 60 * 1000;

interface Opened {
  readonly asked: AskedOrder;
  chain: string | undefined;
}

export async function stubAuthority(owner: Owner): Promise<StubAuthority> {
  const authority = await testAuthority();
  const opened: Opened[] = [];
  let nonces = 0;

  const server = createServer((request, response) => {
    serve(request, response).catch((error: unknown) => {
      response.writeHead(500).end(String(error));
    });
  });
  const port = await listenLocally(server);
  atEnd(owner, () => {
    server.closeAllConnections();
    server.close();
  });
  const at = (path: string): string => `http://127.0.0.1:${port}/${path}`;

  const stub: StubAuthority = {
    directory: at("dir"),
    authority,
    orders: [],
    accounts: 0,
    requests: [],
    aheadMs: 0,
    refuse: () => undefined,
    issues: (names, publicKey) => {
      const now = Date.now() + stub.aheadMs;
      return { names, publicKey, notBefore: now - DAY_MS, notAfter: now + 90 * DAY_MS };
    },
    renewal: undefined,
  };

  const orderOf = (number: number): object => {
    const { asked, chain } = opened[number] as Opened;
    return {
      status: chain === undefined ? "ready" : "valid",
      identifiers: asked.names.map((value) => ({ type: "dns", value })),
      authorizations: [at(`proof/${number}`)],
      finalize: at(`finalize/${number}`),
      ...(chain !== undefined && { certificate: at(`certificate/${number}`) }),
    };
  };

  async function serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const [, what = "", of = ""] = (request.url ?? "").split("/");
    nonces += 1;
    response.setHeader("replay-nonce", `nonce-${nonces}`);
    response.setHeader("date", new Date(Date.now() + stub.aheadMs).toUTCString());
    const answer = (body: object | string, status = 200, headers: Readonly<Record<string, string>> = {}): void => {
      const type = typeof body === "string" ? "application/pem-certificate-chain" : "application/json";
      response.writeHead(status, { "content-type": type, ...headers });
      response.end(typeof body === "string" ? body : JSON.stringify(body));
    };
    if (what === "dir") {
      const renewalInfo = stub.renewal === undefined ? {} : { renewalInfo: at("renewal") };
      return answer({ newNonce: at("nonce"), newAccount: at("account"), newOrder: at("order"), ...renewalInfo });
    }
    if (what === "nonce") return answer({});
    if (what === "renewal") {
      stub.requests.push(of);
      response.writeHead(200, { "content-type": "application/json", "retry-after": "3600" }).end(stub.renewal);
      return;
    }
    const payload = await payloadOf(request);
    if (what === "account") {
      stub.accounts += 1;
      return answer({ status: "valid" }, 201, { location: at(`account/${stub.accounts}`) });
    }
    if (what === "order" && of === "") {
      const identifiers = payload["identifiers"] as readonly { readonly value: string }[];
      const asked = {
        names: identifiers.map(({ value }) => value),
        replaces: payload["replaces"] as string | undefined,
      };
      stub.orders.push(asked);
      const refused = stub.refuse(asked);
      if (refused !== undefined) {
        const { status, type, detail } = refused;
        return answer({ type: `urn:ietf:params:acme:error:${type}`, detail }, status);
      }
      opened.push({ asked, chain: undefined });
      const number = opened.length - 1;
      return answer(orderOf(number), 201, { location: at(`order/${number}`) });
    }
    const number = Number(of);
    const order = opened[number];
    if (order === undefined) return answer({ type: "urn:ietf:params:acme:error:malformed", detail: "no order" }, 404);
    if (what === "finalize") {
      const csr = new x509.Pkcs10CertificateRequest(Buffer.from(String(payload["csr"]), "base64url"));
      order.chain = (await authority.issue(stub.issues(order.asked.names, csr.publicKey))).chain;
    }
    if (what === "certificate") return answer(order.chain ?? "");
    if (what === "proof") {
      return answer({ status: "valid", identifier: { type: "dns", value: order.asked.names[0] }, challenges: [] });
    }
    answer(orderOf(number), 200, { location: at(`order/${number}`) });
  }
  return stub;
}

/** Returns the signed payload; empty for a POST that only reads. */
async function payloadOf(request: IncomingMessage): Promise<Readonly<Record<string, unknown>>> {
  let text = "";
  for await (const chunk of request) text += String(chunk);
  const { payload = "" } = JSON.parse(text) as { readonly payload?: string };
  return payload === "" ? {} : JSON.parse(Buffer.from(payload, "base64url").toString());
}
