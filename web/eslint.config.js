import js from "@eslint/js";
import hooks from "eslint-plugin-react-hooks";
import ts from "typescript-eslint";

// A color has a meaning: tokens of src/styles.css, never a value or a palette's name.
const raw =
  "#[0-9a-fA-F]{3,8}\\b|\\b(rgb|rgba|hsl|hsla|oklch)\\(|\\b(bg|text|border|ring|fill|stroke|outline|divide|from|to|via|accent|decoration)-(red|green|blue|yellow|gray|grey|slate|zinc|neutral|stone|orange|amber|lime|emerald|teal|cyan|sky|indigo|violet|purple|fuchsia|pink|rose|black|white)\\b";
const message = "Use a token of src/styles.css: a color has a meaning.";

// So has a size: one of the scale.
const size = "\\btext-\\[[0-9.]|\\bleading-";
const scale = "Use a size of src/styles.css: the scale has a dense and a comfortable step.";

export default ts.config(
  { ignores: ["dist", "node_modules", "src/api/schema.d.ts", "test-results"] },
  js.configs.recommended,
  ts.configs.strictTypeChecked,
  {
    languageOptions: { parserOptions: { projectService: true, tsconfigRootDir: import.meta.dirname } },
    plugins: { "react-hooks": hooks },
    rules: {
      ...hooks.configs.recommended.rules,
      "react-hooks/incompatible-library": "off", // nothing here is compiled
      "@typescript-eslint/restrict-template-expressions": ["error", { allowNumber: true }],
      "@typescript-eslint/no-confusing-void-expression": ["error", { ignoreArrowShorthand: true }],
      "@typescript-eslint/no-unnecessary-condition": ["error", { allowConstantLoopConditions: true }],
      "max-lines": ["error", { max: 400, skipBlankLines: true, skipComments: true }],
      "no-restricted-syntax": [
        "error",
        { selector: `Literal[value=/${raw}/]`, message },
        { selector: `TemplateElement[value.raw=/${raw}/]`, message },
        { selector: `Literal[value=/${size}/]`, message: scale },
        { selector: `TemplateElement[value.raw=/${size}/]`, message: scale },
        { selector: "JSXAttribute[name.name='dangerouslySetInnerHTML']", message: "What agents write reaches the page as text." },
        { selector: "MemberExpression[property.name=/^(innerHTML|outerHTML|insertAdjacentHTML)$/]", message: "What agents write reaches the page as text." },
      ],
      "no-eval": "error",
    },
  },
  { files: ["*.js"], extends: [ts.configs.disableTypeChecked] },
);
