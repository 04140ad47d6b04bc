export type { PickerAnswer } from "./answers.ts";
export { withModel } from "./model.ts";
export { type PickerRequest, routeByPicker } from "./picked.ts";
export { connectPicker, openPickers, type Pickers } from "./pickers.ts";
