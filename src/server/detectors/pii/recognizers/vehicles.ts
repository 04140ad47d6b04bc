/** Recognizers of vehicle registrations of India and Nigeria. Source: guardrails reference, 1.3. */

import { capital, like, national, shape } from "./recognizer-rows.ts";

const STATES =
  "AN|AP|AR|AS|BR|CG|CH|DD|DL|DN|GA|GJ|HP|HR|JH|JK|KA|KL|LA|LD|MH|ML|MN|MP|MZ|NL|OD|OR|PB|PY|RJ|SK|TN|TR|TS|TG|UK|UP|UA|WB";
const STATE_PLATE = new RegExp(`^(?:${STATES})(?:0?[1-9]|[1-9]\\d)[A-Z]{1,3}(?!0000)\\d{4}$`);

const DISTRICTS = ["d1", "d2"];
const SERIES = ["L1", "L2", "L3"];
const PLATES = DISTRICTS.flatMap((district) =>
  SERIES.flatMap((series) => [
    `L2${district}${series}d4`,
    `L2-${district}-${series}-d4`,
    `L2${district}-${series}-d4`,
    `L2${district}${series}-d4`,
  ]),
).join(" ");

export const VEHICLES = [
  national(
    "InVehicleRegistration",
    "IN_VEHICLE_REGISTRATION",
    ["vehicle", "plate", "registration", "rto", "number plate"],
    shape("state and district", 0.5, PLATES, (value, written) => {
      if (!STATE_PLATE.test(value)) return false;
      return written === written.toUpperCase() ? true : undefined;
    }),
    shape(
      "all states",
      0.85,
      "d2L2d4L1 d2L2d4L2 d2-L2-d4-L1 d2-L2-d4-L2",
      capital(like(/^(?:2[1-9]|3\d)BH(?!0000)\d{4}[A-HJ-NP-Z]{1,2}$/)),
    ),
    shape("armed forces", 0.85, "d2L1d6L1 d2-L1-d6-L1 d2-L1-d6L1", capital(like(/^\d\d[A-HJ-NPR-UW-Z]\d{6}[A-Z]$/))),
    shape(
      "diplomatic",
      0.4,
      "d2L2d2 d3L2d2 d2-L2-d2 d3-L2-d2 d2-L2-d3 d3-L2-d3",
      capital(like(/^\d+(?:CD|CC|UN)\d+$/)),
    ),
    shape("older", 0.2, "L3d4 L3-d4", capital(like(new RegExp(`^(?:${STATES})[A-Z]\\d{4}$`)))),
  ),
  national(
    "NgVehicleRegistration",
    "NG_VEHICLE_REGISTRATION",
    ["plate number", "vehicle", "plate", "registration", "frsc"],
    shape("with a separator", 0.5, "L3-d3L2 L3-d3-L2", capital()),
    shape("bare", 0.3, "L3d3L2", capital()),
  ),
];
