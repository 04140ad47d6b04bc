/**
 * Sources of keys for cloud processes, on loopback: the metadata service of an instance, the endpoint of a container,
 * and the token service for web identities. Source: credentials reference, 1.6.
 */
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import { listenLocally } from "../../support/ports.ts";
import { atEnd, type Owner } from "../../support/wait.ts";

/** `v1`: the metadata service has no tokens and answers every request. */
export type Mode = "good" | "slow" | "403" | "garbage" | "expired" | "v1";

export interface Platform {
  readonly url: string;
  mode: Mode;
  /** Lifetime of keys in seconds. */
  lifetime: number;
  /** `METHOD path`, in order. */
  readonly requests: string[];
}

export const PLATFORM_SECRET = "CANARY/of/the+platform/K7MDENGbPxRfiCYEXAMPLEKEY";
export const PLATFORM_TOKEN = "CANARY-SESSION-of-the-platform-that-is-long-enough==";
export const ENDPOINT_TOKEN = "CANARY-of-the-endpoint";
export const ROLE = "canary-role";

const NOT_FOUND = { status: 404, body: "" } as const;

/** `id` is the id of the keys that it issues. */
export async function startPlatform(owner: Owner, id: string): Promise<Platform> {
  const held = new Set<ServerResponse>();
  const expiry = (): string =>
    new Date(Date.now() + (platform.mode === "expired" ? -60_000 : platform.lifetime * 1_000)).toISOString();
  const keys = (more: object = {}): string =>
    JSON.stringify({
      ...more,
      AccessKeyId: id,
      SecretAccessKey: PLATFORM_SECRET,
      Token: PLATFORM_TOKEN,
      Expiration: expiry(),
    });
  const answerOf = (request: IncomingMessage): { readonly status: number; readonly body: string } => {
    const at = `${request.method} ${request.url}`;
    const isFirstVersion = platform.mode === "v1";
    if (at === "PUT /latest/api/token") return isFirstVersion ? NOT_FOUND : { status: 200, body: "metadata-token" };
    if (
      !isFirstVersion &&
      request.url?.startsWith("/latest/") &&
      request.headers["x-aws-ec2-metadata-token"] !== "metadata-token"
    ) {
      return { status: 401, body: "" };
    }
    if (at === "GET /latest/meta-data/iam/security-credentials/") return { status: 200, body: ROLE };
    if (at === `GET /latest/meta-data/iam/security-credentials/${ROLE}`) {
      return { status: 200, body: keys({ Code: "Success" }) };
    }
    if (at.startsWith("GET /creds")) {
      return request.headers.authorization === ENDPOINT_TOKEN
        ? { status: 200, body: keys() }
        : { status: 401, body: "" };
    }
    if (at.startsWith("POST /")) {
      const body = `<AssumeRoleWithWebIdentityResponse xmlns="https://sts.amazonaws.com/doc/2011-06-15/"><AssumeRoleWithWebIdentityResult><Credentials><AccessKeyId>${id}</AccessKeyId><SecretAccessKey>${PLATFORM_SECRET}</SecretAccessKey><SessionToken>${PLATFORM_TOKEN}</SessionToken><Expiration>${expiry()}</Expiration></Credentials></AssumeRoleWithWebIdentityResult></AssumeRoleWithWebIdentityResponse>`;
      return { status: 200, body };
    }
    return NOT_FOUND;
  };
  const server = createServer((request, answer) => {
    platform.requests.push(`${request.method} ${request.url?.split("?")[0]}`);
    request.resume().on("end", () => {
      if (platform.mode === "slow") return void held.add(answer);
      if (platform.mode === "403") return void answer.writeHead(403).end(`forbidden ${PLATFORM_SECRET}`);
      if (platform.mode === "garbage") return void answer.end(`{"${PLATFORM_SECRET}`);
      const { status, body } = answerOf(request);
      answer.writeHead(status, { "content-type": body.startsWith("<") ? "text/xml" : "application/json" }).end(body);
    });
  });
  const platform: Platform = {
    url: `http://127.0.0.1:${await listenLocally(server)}`,
    mode: "good",
    lifetime: 3_600,
    requests: [],
  };
  atEnd(owner, () => {
    for (const answer of held) answer.destroy();
    server.closeAllConnections();
    return new Promise((done) => server.close(done));
  });
  return platform;
}
