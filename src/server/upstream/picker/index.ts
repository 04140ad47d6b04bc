export type { PickerAnswer } from "./picker-answers.ts";
export { connectPicker, openPickers } from "./pickers.ts";
export { withModel } from "./requested-model.ts";
export { type PickerRequest, routeByPicker } from "./route-by-picker.ts";
