/**
 * Writes the shapes of a picture as SVG text. This file decides how texts are escaped and numbers are written. Pure.
 * This file does not know what is drawn.
 */
type Attributes = Readonly<Record<string, string | number | undefined>>

const NAMED: Readonly<Record<string, string>> = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;' }
export const escaped = (text: string): string => text.replaceAll(/[&<>"]/g, (c) => NAMED[c] ?? c)

const written = (value: string | number) => (typeof value === 'number' ? `${Number(value.toFixed(2))}` : escaped(value))

export function element(name: string, attributes: Attributes, ...children: readonly string[]): string {
  const written_ = Object.entries(attributes).flatMap(([key, value]) =>
    value === undefined ? [] : [` ${key}="${written(value)}"`],
  )
  const head = `<${name}${written_.join('')}`
  return children.length === 0 ? `${head}/>` : `${head}>${children.join('')}</${name}>`
}

export const label = (x: number, y: number, text: string, attributes: Attributes = {}): string =>
  element('text', { x, y, ...attributes }, escaped(text))

export const segment = (x1: number, y1: number, x2: number, y2: number, attributes: Attributes = {}): string =>
  element('line', { x1, y1, x2, y2, ...attributes })

/** Shape of a daemon's marks. Every daemon has a different shape, so that colour is not the only difference. */
export type Shape = 'circle' | 'square' | 'triangle' | 'diamond' | 'cross'

export function mark(shape: Shape, x: number, y: number, r: number, attributes: Attributes = {}): string {
  switch (shape) {
    case 'circle':
      return element('circle', { cx: x, cy: y, r, ...attributes })
    case 'square':
      return element('rect', { x: x - r, y: y - r, width: 2 * r, height: 2 * r, ...attributes })
    case 'triangle':
      return element('path', { d: path([x, y - 1.2 * r], [x + 1.2 * r, y + r], [x - 1.2 * r, y + r]), ...attributes })
    case 'diamond':
      return element('path', {
        d: path([x, y - 1.3 * r], [x + 1.3 * r, y], [x, y + 1.3 * r], [x - 1.3 * r, y]),
        ...attributes,
      })
    case 'cross':
      return element('path', {
        d: path([x - r, y - r], [x + r, y + r], [x, y], [x - r, y + r], [x + r, y - r], [x, y]),
        ...attributes,
      })
  }
}

const path = (...points: readonly (readonly [number, number])[]): string =>
  `M${points.map((point) => point.map(written).join(' ')).join('L')}Z`
