/**
 * Cost of TLS for the gateway, compared with the bare proxy: requests on kept-alive connections, and handshakes, CPU
 * time of the server alone. A round puts a part of the load on each of the four servers in turn, in reverse order in
 * the next, so that disturbances affect all alike.
 */

import type { HandshakeJob, HandshakeResult } from "../child/handshakes.ts";
import { type Piece, startAsked, startPiece } from "../parts/children.ts";
import { CONFIG_MODEL } from "../parts/configuration.ts";
import { startGateway } from "../parts/gateway.ts";
import { cpuMicros } from "../parts/process-usage.ts";
import { type Judged, judge } from "../report.ts";
import { load, waitForRest } from "../rounds.ts";
import { MAX_TLS_ADDED_RATIO } from "../scenarios.ts";
import { prepare, type Stage } from "../stage.ts";
import { type Summary, summarize } from "../statistics.ts";
import { type BenchCertificate, makeCertificate } from "./certificate.ts";

/** A difference of two figures is several times as uncertain as they are: many short rounds. */
const ROUNDS_A_ROUND = 2;
const REQUESTS = 6_000;
const WARM_UP = 15_000;
const CONNECTIONS = 32;
const HANDSHAKES = 500;
const HANDSHAKES_AT_ONCE = 16;

interface Server {
  readonly piece: Piece;
  readonly isSecure: boolean;
  readonly cpuUs: number[];
}

export async function measureTls(stage: Stage): Promise<readonly Judged[]> {
  const { pieces, upstreamPort, options, scale } = stage;
  const certificate = await makeCertificate(pieces.folder);
  const own = await prepare(stage, "config", { kind: "unary", model: CONFIG_MODEL });
  const { chainFile, keyFile } = certificate;
  const started: Piece[] = [];
  const serverOf = async (starting: Promise<Piece>, isSecure: boolean): Promise<Server> => {
    const piece = await starting;
    started.push(piece);
    return { piece, isSecure, cpuUs: [] };
  };
  const generator = startAsked<HandshakeJob, HandshakeResult>(pieces.handshakes);
  try {
    const servers = {
      bare: await serverOf(startPiece(pieces.bareProxy, [String(upstreamPort)]), false),
      secureBare: await serverOf(startPiece(pieces.bareProxy, [String(upstreamPort), chainFile, keyFile]), true),
      gateway: await serverOf(startGateway(own.gateway), false),
      secureGateway: await serverOf(startGateway({ ...own.gateway, tls: certificate }), true),
    };
    const ask = async ({ piece, isSecure }: Server, requests: number): Promise<number> => {
      const { port, pid } = piece;
      const job = { port, shape: own.shape, connections: CONNECTIONS, requests: Math.round(requests * scale) };
      const before = cpuMicros(pid);
      await load(stage.ask, { ...job, ...(isSecure && { root: certificate.root }) });
      await waitForRest(pid);
      return (cpuMicros(pid) - before) / job.requests;
    };
    const all = Object.values(servers);
    for (const server of all) await ask(server, WARM_UP);
    for (let round = 0; round < options.rounds * ROUNDS_A_ROUND; round += 1) {
      for (const server of round % 2 === 0 ? all : all.toReversed()) server.cpuUs.push(await ask(server, REQUESTS));
    }
    const { bare, secureBare, gateway, secureGateway } = servers;
    const rows: Judged[] = [...requestRows(differences(secureBare, bare), differences(secureGateway, gateway))];
    for (const version of ["TLSv1.3", "TLSv1.2"] as const) {
      for (const isResumed of [false, true]) {
        const job = { version, isResumed, count: Math.round(HANDSHAKES * scale) };
        rows.push(await handshakeRow(job, { secureBare, secureGateway }, certificate, options.rounds, generator.ask));
      }
    }
    return rows;
  } finally {
    await generator.stop();
    for (const piece of started.reverse()) await piece.stop();
  }
}

const differences = (one: Server, other: Server): readonly number[] =>
  one.cpuUs.map((us, round) => us - (other.cpuUs[round] ?? Number.NaN));

function requestRows(bare: readonly number[], gateway: readonly number[]): readonly Judged[] {
  const byBare = summarize(bare);
  const byGateway = summarize(gateway);
  const ratio = byGateway.median / byBare.median;
  const row = (name: string, of: Summary): Judged => ({
    name,
    value: `${of.median.toFixed(1)} us`,
    target: "",
    verdict: "",
    detail: range(of),
  });
  return [
    row("tls: CPU added to a request of the bare proxy", byBare),
    row("tls: CPU added to a request of the gateway", byGateway),
    {
      name: "tls: of which over the bare proxy's",
      value: ratio.toFixed(2),
      target: MAX_TLS_ADDED_RATIO.toFixed(2),
      verdict: judge(ratio, MAX_TLS_ADDED_RATIO),
      detail: `${(byGateway.median - byBare.median).toFixed(1)} us, over ${bare.length} rounds`,
    },
  ];
}

type AskedHandshakes = (job: HandshakeJob) => Promise<HandshakeResult>;

/** Opens a connection, completes TLS with a P-256 key, sends nothing and closes. */
async function handshakeRow(
  { version, isResumed, count }: Pick<HandshakeJob, "version" | "isResumed" | "count">,
  servers: { readonly secureBare: Server; readonly secureGateway: Server },
  { root }: BenchCertificate,
  rounds: number,
  ask: AskedHandshakes,
): Promise<Judged> {
  const costOf = async ({ piece: { port, pid } }: Server): Promise<number> => {
    const before = cpuMicros(pid);
    const result = await ask({ port, root, version, isResumed, count, atOnce: HANDSHAKES_AT_ONCE });
    if (result.kind === "broken") throw new Error(`handshakes: ${result.reason}`);
    await waitForRest(pid);
    return (cpuMicros(pid) - before) / count;
  };
  const bare: number[] = [];
  const gateway: number[] = [];
  for (let round = 0; round < rounds; round += 1) {
    const turns = [
      async () => void bare.push(await costOf(servers.secureBare)),
      async () => void gateway.push(await costOf(servers.secureGateway)),
    ];
    for (const turn of round % 2 === 0 ? turns : turns.reverse()) await turn();
  }
  const us = summarize(gateway);
  const perSecond = (each: number): string => (1e6 / each).toFixed(0);
  return {
    name: `tls: handshakes a second and core, P-256, ${version}${isResumed ? ", resumed" : ""}`,
    value: perSecond(us.median),
    target: "",
    verdict: "",
    detail: `${us.median.toFixed(0)} us (${range(us)}); the bare proxy ${perSecond(summarize(bare).median)}`,
  };
}

const range = ({ least, most }: Summary): string => `${least.toFixed(1)}-${most.toFixed(1)}`;
