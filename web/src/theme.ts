import { createTheme, type CSSVariablesResolver, type MantineColorsTuple } from "@mantine/core";

/** Mantine wants ten shades; ink has none, so every shade is the text colour of the scheme. */
const ink = Array.from({ length: 10 }, () => "var(--text)") as unknown as MantineColorsTuple;

export const theme = createTheme({
  fontFamily: "var(--sans)",
  fontFamilyMonospace: "var(--mono)",
  headings: { fontFamily: "var(--sans)" },
  fontSizes: { xs: "12px", sm: "14px", md: "14px", lg: "16px", xl: "20px" },
  lineHeights: { xs: "16px", sm: "20px", md: "20px", lg: "24px", xl: "28px" },
  spacing: { xs: "4px", sm: "8px", md: "12px", lg: "16px", xl: "24px" },
  radius: { xs: "3px", sm: "4px", md: "6px", lg: "6px", xl: "6px" },
  defaultRadius: "sm",
  primaryColor: "ink",
  primaryShade: 6,
  colors: { ink },
  autoContrast: false,
  focusRing: "auto",
  respectReducedMotion: true,
  shadows: { xs: "none", sm: "none", md: "none", lg: "none", xl: "none" },
  components: {
    Modal: {
      defaultProps: {
        centered: true,
        closeButtonProps: { "aria-label": "Close" },
        transitionProps: { duration: 0 },
        overlayProps: { backgroundOpacity: 0.4 },
      },
    },
    Menu: { defaultProps: { transitionProps: { duration: 0 }, withinPortal: true } },
    Select: { defaultProps: { comboboxProps: { transitionProps: { duration: 0 } }, allowDeselect: false } },
    // Whatever is not needed says so itself.
    InputWrapper: { defaultProps: { withAsterisk: false } },
    // What is out of range is refused with its reason, not changed behind one's back.
    NumberInput: { defaultProps: { clampBehavior: "none" } },
    Switch: { defaultProps: { withThumbIndicator: false } },
  },
});

const schemed = {
  "--mantine-color-body": "var(--surface)",
  "--mantine-color-text": "var(--text)",
  "--mantine-color-dimmed": "var(--text3)",
  "--mantine-color-bright": "var(--text)",
  "--mantine-color-anchor": "var(--text)",
  "--mantine-color-placeholder": "var(--text3)",
  "--mantine-color-error": "var(--down-word)",
  "--mantine-color-default": "var(--surface)",
  "--mantine-color-default-hover": "var(--sunken)",
  "--mantine-color-default-color": "var(--text)",
  "--mantine-color-default-border": "var(--edge)",
  "--mantine-color-disabled": "var(--sunken)",
  "--mantine-color-disabled-color": "var(--text3)",
  "--mantine-color-disabled-border": "var(--line)",
  "--mantine-primary-color-filled": "var(--text)",
  "--mantine-primary-color-filled-hover": "var(--text2)",
  "--mantine-primary-color-contrast": "var(--surface)",
  "--mantine-color-ink-filled": "var(--text)",
};

/** Mantine's own variables, led back to the tokens. */
export const variables: CSSVariablesResolver = () => ({ variables: {}, light: schemed, dark: schemed });
