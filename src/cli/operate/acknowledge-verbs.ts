/** `gateway ack ALERT` and `gateway unack ALERT`: hide an alert of the overview for a time, for every operator. */

import { formatDuration } from "../../base/index.ts";
import { clipArgument, type FlagsOf } from "../parse-flags.ts";
import type { ExitStatus, Io } from "../process-io.ts";
import type { ackFlags, unackFlags } from "./operate-flags.ts";
import { contextOf, loadConsole, runChange } from "./run-change.ts";
import { unknownName } from "./unknown-name.ts";
import { withGateway } from "./with-gateway.ts";

export const ack = {
  run: (options: FlagsOf<typeof ackFlags>, [name = ""]: readonly string[], io: Io): Promise<ExitStatus> =>
    withGateway("ack", options, io, async (called) => {
      const console = await loadConsole();
      const needs = [...console.attentionNeeds(), { id: "list_acknowledgements" } as const];
      const context = await contextOf(called, needs, io, console);
      const items = console.attentionOf(context);
      const item = items.find(({ id }) => id === name);
      if (item === undefined) {
        io.stderr.write(
          `gateway ack: ${unknownName(
            "alert",
            name,
            items.map(({ id }) => id),
          )}\n`,
        );
        return 1;
      }
      const change = {
        verb: "ack",
        dialog: console.acknowledgeDialog([console.acknowledgeableOf(item)], context),
        values: { reason: options.reason, duration: formatDuration(options.for) },
        context,
        consent: "none",
      } as const;
      return await runChange(change, called, io, console);
    }),
};

export const unack = {
  run: (options: FlagsOf<typeof unackFlags>, [name = ""]: readonly string[], io: Io): Promise<ExitStatus> =>
    withGateway("unack", options, io, async (called) => {
      const console = await loadConsole();
      const context = await contextOf(called, [{ id: "list_acknowledgements" }], io, console);
      if (console.acknowledgementOf(context, name) === undefined) {
        if (options.ifExists) {
          io.stderr.write(`'${clipArgument(name)}' is not acknowledged; nothing was changed.\n`);
          return 0;
        }
        const known = console.rowsOf(context.data, "acknowledgements").map((row) => row.name);
        io.stderr.write(`gateway unack: ${unknownName("acknowledgement", name, known)}\n`);
        return 1;
      }
      const change = {
        verb: "unack",
        dialog: console.liftAcknowledgementsDialog([name], context),
        values: {},
        context,
        consent: "none",
      } as const;
      return await runChange(change, called, io, console);
    }),
};
