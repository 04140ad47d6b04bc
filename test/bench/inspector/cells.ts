/**
 * Added latency of an inspected request, in rounds: through an Envoy without inspection, one that calls a service
 * without inspection logic, and one that calls the inspector; then in reverse order. Additions and ratios are computed
 * within a round, and the median of the rounds is reported.
 */

import type { LoadJob } from "../child/load.ts";
import type { Figure } from "../parts/figures.ts";
import type { Scenario } from "../parts/scenario.ts";
import { median } from "../statistics.ts";
import type { InspectorStage, Seconds, Through } from "./stage.ts";

/** Maximum ratio of the inspector's addition, without the detector's own time, to that of any service. */
const MAX_RATIO = 1.5;

const ROUNDS = 7;
const REQUESTS = { whole: 800, streamed: 250 } as const;
const WARM_UP = 2_000;
const PIECES = 4;

interface CellsGiven {
  readonly stage: InspectorStage;
  readonly isQuick: boolean;
}

interface Cell {
  readonly name: string;
  readonly bytes: number;
  readonly way: keyof typeof REQUESTS;
}

export const CELLS: readonly Cell[] = [1_000, 64_000].flatMap((bytes) =>
  (["whole", "streamed"] as const).map((way) => ({ name: `${bytes / 1_000}-kb-${way}`, bytes, way })),
);

type Latency = Readonly<Record<"p50Us" | "p99Us", number>>;

export const scenarioOf = (cell: Cell): Scenario<CellsGiven> => ({
  name: cell.name,
  async run({ stage, isQuick }) {
    const scaled = (count: number): number => (isQuick ? Math.ceil(count / 10) : count);
    const rounds: Readonly<Record<Through, Latency>>[] = [];
    const cpu = { empty: 0, inspector: 0 };
    let asked = 0;
    let lost = 0;
    const ask = async (through: Through, requests: number): Promise<Latency> => {
      const result = await stage.ask(jobOf(cell, stage.ports[through], requests));
      if (result.kind === "broken") throw new Error(`load through ${through}: ${result.reason}`);
      // Its connections fill up with resets, of which a Node server accepts a thousand.
      if (through === "empty") lost += result.failures;
      else if (result.failures > 0) {
        throw new Error(`${result.failures} through ${through} were not 2xx, the last ${result.failedWith}`);
      }
      return result;
    };

    const order: readonly Through[] = ["nothing", "empty", "inspector"];
    for (const through of order) await ask(through, scaled(cell.way === "whole" ? WARM_UP : REQUESTS.streamed));
    const before = await readings(stage);
    for (let round = 0; round < (isQuick ? 3 : ROUNDS); round += 1) {
      const measured: Partial<Record<Through, Latency>> = {};
      for (const through of round % 2 === 0 ? order : order.toReversed()) {
        const cpuBefore = through === "nothing" ? 0 : stage.cpuOf(through);
        measured[through] = await ask(through, scaled(REQUESTS[cell.way]));
        if (through !== "nothing") cpu[through] += stage.cpuOf(through) - cpuBefore;
      }
      asked += scaled(REQUESTS[cell.way]);
      rounds.push(measured as Record<Through, Latency>);
    }
    const after = await readings(stage);
    return figuresOf(cell, rounds, {
      detectorUs: meanUs(before.detector, after.detector),
      verdictUs: meanUs(before.verdict, after.verdict),
      messages: (after.messages - before.messages) / asked,
      lost,
      cpuUs: { empty: cpu.empty / asked, inspector: cpu.inspector / asked },
    });
  },
});

async function readings(stage: InspectorStage) {
  return {
    detector: await stage.seconds("gateway_detector_seconds"),
    verdict: await stage.seconds("gateway_inspector_seconds"),
    messages: await stage.messagesOf("inspector"),
  };
}

const meanUs = (before: Seconds, after: Seconds): number => (after.sumUs - before.sumUs) / (after.count - before.count);

interface Beside {
  readonly detectorUs: number;
  readonly verdictUs: number;
  /** Messages per request sent by the filter. */
  readonly messages: number;
  /** Requests lost by the service without inspection logic. */
  readonly lost: number;
  readonly cpuUs: Readonly<Record<"empty" | "inspector", number>>;
}

function figuresOf(
  { name }: Cell,
  rounds: readonly Readonly<Record<Through, Latency>>[],
  { detectorUs, verdictUs, messages, lost, cpuUs }: Beside,
): readonly Figure[] {
  const figures = (["p50Us", "p99Us"] as const).flatMap((key): readonly Figure[] => {
    const title = `${name}: ${key.slice(0, 3)}`;
    const added = (through: Through): readonly number[] => rounds.map((it) => it[through][key] - it.nothing[key]);
    const [empty, own] = [added("empty"), added("inspector")];
    const ratios = own.map((us, round) => us / ((empty[round] ?? Number.NaN) + detectorUs));
    const whole = rounds.map(({ nothing }) => nothing[key]);
    return [
      {
        name: `${title} added`,
        value: median(own),
        unit: "us",
        aim: undefined,
        detail: `by a service that looks at nothing ${median(empty).toFixed(0)} us; Envoy alone takes ${median(whole).toFixed(0)} us`,
      },
      {
        name: `${title} ratio`,
        value: median(ratios),
        unit: "times",
        aim: { atMost: MAX_RATIO },
        detail: `rounds ${Math.min(...ratios).toFixed(2)} to ${Math.max(...ratios).toFixed(2)}`,
      },
    ];
  });
  const own: Figure = {
    name: `${name}: detector`,
    value: detectorUs,
    unit: "us",
    aim: undefined,
    detail: `to the verdict ${verdictUs.toFixed(0)} us; ${messages.toFixed(1)} messages a request; CPU ${cpuUs.inspector.toFixed(0)} us beside ${cpuUs.empty.toFixed(0)} us, which lost ${lost}`,
  };
  return [...figures, own];
}

/** Uses one connection, so that no request waits for another. */
function jobOf({ bytes, way }: Cell, port: number, requests: number): LoadJob {
  const shape = { kind: "texts", texts: [requestOf(bytes, way, port)] } as const;
  return { port, shape, connections: 1, requests, ...(way === "streamed" && { pieces: PIECES }) };
}

const SENTENCE = "How vexingly quick daft zebras jump. ";

function requestOf(bytes: number, way: Cell["way"], port: number): string {
  const shell = JSON.stringify({ model: "bench", messages: [{ role: "user", content: "" }] });
  const content = SENTENCE.repeat(Math.ceil(bytes / SENTENCE.length)).slice(0, bytes - shell.length);
  const body = JSON.stringify({ model: "bench", messages: [{ role: "user", content }] });
  const head = [
    "POST /v1/chat/completions HTTP/1.1",
    `Host: 127.0.0.1:${port}`,
    "Authorization: Bearer bench-client-credential",
    "Content-Type: application/json",
    "Accept: application/json",
    "User-Agent: bench/1.0",
    way === "whole" ? `Content-Length: ${body.length}` : "Transfer-Encoding: chunked",
  ].join("\r\n");
  const framed = way === "whole" ? body : `${body.length.toString(16)}\r\n${body}\r\n0\r\n\r\n`;
  return `${head}\r\n\r\n${framed}`;
}
