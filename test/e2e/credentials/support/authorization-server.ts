/**
 * An authorization server in the test's own process: `oidc-provider` with the client credentials grant, and two grants
 * implemented here: token exchange (RFC 8693) and on-behalf-of (RFC 7523). Callers' tokens are signed with its key.
 */
import { randomBytes } from "node:crypto";
import { createServer } from "node:http";
import {
  createLocalJWKSet,
  exportJWK,
  generateKeyPair,
  importJWK,
  type JSONWebKeySet,
  type JWK,
  jwtVerify,
  SignJWT,
} from "jose";
import Provider, { errors } from "oidc-provider";
import { memoryStore } from "../../support/oidc-store.ts";
import { listenLocally } from "../../support/ports.ts";
import { atEnd, type Owner } from "../../support/wait.ts";

export const EXCHANGE = "urn:ietf:params:oauth:grant-type:token-exchange";
export const ON_BEHALF_OF = "urn:ietf:params:oauth:grant-type:jwt-bearer";

/** Audience of callers' tokens. */
export const GATEWAY = "https://gateway.example.com";
/** Audience of the tokens issued here. */
export const TOOLS = "https://tools.example.com";

type Outage = "up" | "refuses" | "hangs" | "503" | "garbage";

interface TokenRequest {
  readonly grant: string;
  readonly client: string;
  /** `sub` of the exchanged token. */
  readonly subject: string | undefined;
}

interface AuthorizationServer {
  readonly issuer: string;
  readonly tokenUrl: string;
  /** Issued tokens. */
  readonly requests: TokenRequest[];
  /** Number of requests to the token endpoint, whatever their outcome. */
  requestCount: number;
  outage: Outage;
  /** Token lifetime in seconds. */
  lifetime: number;
  /** Subjects that are refused, with the body of the refusal. */
  readonly refused: Map<string, Readonly<Record<string, unknown>>>;
  /** Value of the token's `aud`; the requested one if omitted. */
  wrongAudience: string | undefined;
  setSecret(client: string, secret: string): void;
  callerToken(subject: string, facts?: Readonly<Record<string, unknown>>, seconds?: number): Promise<string>;
  readonly keys: JSONWebKeySet;
}

interface ServerOptions {
  /** Client secrets by client id. */
  readonly clients: Readonly<Record<string, string>>;
}

export async function startAuthorizationServer(owner: Owner, { clients }: ServerOptions): Promise<AuthorizationServer> {
  const secrets = new Map(Object.entries(clients));
  const { privateKey } = await generateKeyPair("ES256", { extractable: true });
  const jwk: JWK = { ...(await exportJWK(privateKey)), kid: randomBytes(8).toString("hex"), alg: "ES256", use: "sig" };
  const { d: _, ...open } = jwk;
  const keys: JSONWebKeySet = { keys: [open as JWK & { kty: string }] };
  const keySet = createLocalJWKSet(keys);
  const signingKey = await importJWK(jwk, "ES256");
  let handle: ReturnType<Provider["callback"]> = async () => undefined;
  const held = new Set<() => void>();
  const server = createServer((request, answer) => {
    const isToken = request.url === "/token";
    if (isToken) state.requestCount++;
    if (state.outage === "refuses") {
      request.socket.destroy();
    } else if (isToken && state.outage === "hangs") {
      held.add(() => answer.destroy());
    } else if (isToken && state.outage === "503") {
      answer.writeHead(503, { "content-type": "text/plain" }).end("try later: CANARY-OUTAGE");
    } else if (isToken && state.outage === "garbage") {
      answer.writeHead(200, { "content-type": "text/html" }).end("<html>CANARY-OUTAGE</html>");
    } else {
      void handle(request, answer);
    }
  });
  const issuer = `http://127.0.0.1:${await listenLocally(server)}`;
  atEnd(owner, () => {
    for (const end of held) end();
    server.closeAllConnections();
    return new Promise((done) => server.close(done));
  });
  const adapter = memoryStore();

  const infoOf = (resource: string): object => ({
    scope: "read write",
    audience: state.wrongAudience ?? resource,
    accessTokenFormat: "jwt",
    accessTokenTTL: state.lifetime,
    jwt: { sign: { alg: "ES256" } },
  });

  const start = (): void => {
    const provider = quietly(
      () =>
        new Provider(issuer, {
          adapter,
          jwks: { keys: [jwk] },
          cookies: { keys: [randomBytes(16).toString("hex")] },
          clients: [...secrets].map(([id, secret]) => ({
            client_id: id,
            client_secret: secret,
            grant_types: ["client_credentials", EXCHANGE, ON_BEHALF_OF],
            redirect_uris: [],
            response_types: [],
            token_endpoint_auth_method: "client_secret_post",
          })),
          clientDefaults: { id_token_signed_response_alg: "ES256" },
          scopes: ["read", "write"],
          ttl: { ClientCredentials: () => state.lifetime, AccessToken: () => state.lifetime },
          extraTokenClaims: (_context: unknown, token: { readonly extra?: object }) => token.extra,
          features: {
            clientCredentials: { enabled: true },
            devInteractions: { enabled: false },
            resourceIndicators: {
              enabled: true,
              defaultResource: () => TOOLS,
              useGrantedResource: () => false,
              getResourceServerInfo: (_context: unknown, resource: string) => infoOf(resource),
            },
          },
        }),
    );
    const issue = async (
      context: Parameters<Parameters<Provider["registerGrantType"]>[1]>[0],
      subjectToken: unknown,
      target: string,
    ): Promise<void> => {
      const { client } = context.oidc ?? {};
      const verified = await jwtVerify(String(subjectToken), keySet, { issuer, audience: GATEWAY }).catch(() => {
        throw new (errors["InvalidRequest"] as NonNullable<(typeof errors)[string]>)("the subject token is not valid");
      });
      const { sub = "" } = verified.payload;
      const refusal = state.refused.get(sub);
      if (refusal !== undefined) {
        context.status = 400;
        context.body = { error_description: "CANARY-DESCRIPTION", ...refusal };
        return;
      }
      const token = new provider.AccessToken({
        client,
        accountId: sub,
        scope: "read",
        gty: "exchange",
        expiresIn: state.lifetime,
      });
      token.resourceServer = new provider.ResourceServer(target, infoOf(target));
      const value = await token.save();
      state.requests.push({ grant: String(context.oidc?.params?.["grant_type"]), client: idOf(client), subject: sub });
      context.body = {
        access_token: value,
        issued_token_type: "urn:ietf:params:oauth:token-type:access_token",
        token_type: "Bearer",
        expires_in: state.lifetime,
        scope: "read",
      };
    };
    const parametersOfExchange = ["subject_token", "subject_token_type", "audience", "resource", "scope"];
    provider.registerGrantType(
      EXCHANGE,
      async (context) => {
        const { params = {} } = context.oidc ?? {};
        await issue(context, params["subject_token"], String(params["audience"] ?? params["resource"]));
      },
      parametersOfExchange,
      ["audience", "resource"],
    );
    provider.registerGrantType(
      ON_BEHALF_OF,
      async (context) => {
        const { params = {} } = context.oidc ?? {};
        if (params["requested_token_use"] !== "on_behalf_of") throw new Error("it is not on behalf of anybody");
        await issue(context, params["assertion"], String(params["scope"]).replace(/\/\.default$/, ""));
      },
      ["assertion", "scope", "requested_token_use"],
      [],
    );
    provider.on("grant.success", (context) => {
      const grant = String(context.oidc?.params?.["grant_type"]);
      if (grant === "client_credentials") {
        state.requests.push({ grant, client: idOf(context.oidc?.client), subject: undefined });
      }
    });
    handle = provider.callback();
  };

  const state: AuthorizationServer = {
    issuer,
    tokenUrl: `${issuer}/token`,
    requests: [],
    requestCount: 0,
    outage: "up",
    lifetime: 3_600,
    refused: new Map(),
    wrongAudience: undefined,
    keys,
    setSecret(client, secret) {
      secrets.set(client, secret);
      start();
    },
    callerToken: (subject, facts = {}, seconds = 3_600) =>
      new SignJWT({ ...facts })
        .setProtectedHeader({ alg: "ES256", kid: String(jwk.kid), typ: "at+jwt" })
        .setIssuer(issuer)
        .setSubject(subject)
        .setAudience(GATEWAY)
        .setJti(randomBytes(8).toString("hex"))
        .setIssuedAt(Math.floor(Date.now() / 1_000) - 60)
        .setExpirationTime(Math.floor(Date.now() / 1_000) + seconds)
        .sign(signingKey),
  };
  start();
  return state;
}

const idOf = (client: unknown): string => String((client as { readonly clientId?: unknown } | undefined)?.clientId);

/** Suppresses its messages about the runtime and its own defaults. */
function quietly<Value>(make: () => Value): Value {
  const { info, warn } = console;
  console.info = () => undefined;
  console.warn = () => undefined;
  try {
    return make();
  } finally {
    console.info = info;
    console.warn = warn;
  }
}
