// TeX to MathML by the same MathJax that typesets the page: book_mathml.py asks on stdin, the answer is on stdout.
"use strict";
const { mathjax, tex, formulas } = JSON.parse(require("fs").readFileSync(0, "utf8"));
require(mathjax).init({ loader: { load: ["input/tex"] }, tex }).then(({ tex2mml }) => {
  const answers = formulas.map(([formula, display]) => tex2mml(formula, { display }));
  process.stdout.write(JSON.stringify(answers));
});
