/** A presenter of static keys without logs or metrics. */
import { createInstruments, nullLog, systemClock } from "../../../src/base/index.ts";
import { openPresenter, type Presenter, type PresenterOptions } from "../../../src/server/credentials/index.ts";

export const staticKeyPresenter = (options: Partial<PresenterOptions> = {}): Presenter =>
  openPresenter({
    issuer: () => undefined,
    env: {},
    clock: systemClock,
    instruments: createInstruments(),
    log: nullLog,
    ...options,
  });
