/** Rows of the lists that a node provides as they are shown. A list whose rows are missing is a compile error. */

import type { Clock } from "../../../base/index.ts";
import type { Ports } from "../../admin/index.ts";
import type { Certificates } from "../../tls/index.ts";
import { citingPacks } from "../configuration/built-in-packs.ts";
import { artifactRows } from "./artifacts-port.ts";
import { certificateRows } from "./certificates-port.ts";
import { controlRows } from "./controls-port.ts";

type Rows = Ports["rows"];
type Artifacts = Parameters<typeof artifactRows>[0];
type Controls = Parameters<typeof controlRows>[0];

interface RowSources {
  readonly configuration: Artifacts["configuration"] & Controls["configuration"];
  readonly store: Artifacts["store"];
  readonly models: Artifacts["supply"];
  readonly certificates: Certificates | undefined;
  readonly decisions: Controls["decisions"];
  readonly clock: Pick<Clock, "now">;
}

/** Returns the rows of the lists that are made here. */
const createdRows = ({ configuration, store, models, certificates, decisions, clock }: RowSources) =>
  ({
    artifacts: artifactRows({ configuration, store, supply: models }),
    certificates: certificateRows(certificates),
    controls: controlRows({ configuration, decisions, clock, citingPacks }),
  }) satisfies Partial<Rows>;

/** Returns the rows of all lists. `opened`: rows of parts that the node has opened for other purposes too. */
export const listRows = (opened: Omit<Rows, keyof ReturnType<typeof createdRows>>, sources: RowSources): Rows => ({
  ...opened,
  ...createdRows(sources),
});
