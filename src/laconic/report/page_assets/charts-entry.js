// The parts of Observable Plot that page.js uses. `make charts` puts them, with D3, into charts.min.js.
export {
  areaY, arrow, binX, cell, dot, gridX, gridY, line, link, plot, pointer, rectY, ruleX, ruleY, text, tickX, tip,
} from "@observablehq/plot";
