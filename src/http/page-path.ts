/** Under which path the parts of the status page are. Refuses to know them. */
export const PAGE_PATH = '/page/'
