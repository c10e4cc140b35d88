package dev.granary.plans;

import static dev.granary.plans.Products.I;
import static dev.granary.plans.Products.II;
import static dev.granary.plans.Products.J;
import static dev.granary.plans.Products.JJ;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import static java.nio.charset.StandardCharsets.UTF_8;

import dev.granary.plans.ArrayCache.MemoryLocation;
import dev.granary.plans.picture.PlanPicture;
import dev.granary.testing.TestSeed;

import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;
import org.w3c.dom.Document;
import org.w3c.dom.Element;

import java.io.ByteArrayInputStream;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.stream.IntStream;

import javax.xml.parsers.DocumentBuilderFactory;

/** Tests of the pictures of plans. */
class PlanPictureTest {
    private static Document parsed(String picture) throws Exception {
        DocumentBuilderFactory factory = DocumentBuilderFactory.newInstance();
        factory.setFeature("http://apache.org/xml/features/disallow-doctype-decl", true);
        return factory.newDocumentBuilder()
                .parse(new ByteArrayInputStream(picture.getBytes(UTF_8)));
    }

    private static List<Element> elements(Document picture, String tag) {
        var nodes = picture.getElementsByTagName(tag);
        return IntStream.range(0, nodes.getLength())
                .mapToObj(number -> (Element) nodes.item(number))
                .toList();
    }

    private static int number(Element element, String attribute) {
        return Integer.parseInt(element.getAttribute(attribute));
    }

    private static List<String> texts(KernelPlan plan) throws Exception {
        return elements(parsed(PlanPicture.svg(plan)), "text").stream()
                .map(Element::getTextContent)
                .map(String::strip)
                .toList();
    }

    /** Returns the rectangles of one kind as x, y, width, height. */
    private static List<List<Integer>> rectangles(KernelPlan plan, String kind) throws Exception {
        List<List<Integer>> rectangles = new ArrayList<>();
        for (Element each : elements(parsed(PlanPicture.svg(plan)), "rect")) {
            if (each.getAttribute("class").equals(kind)) {
                rectangles.add(List.of(
                        number(each, "x"),
                        number(each, "y"),
                        number(each, "width"),
                        number(each, "height")));
            }
        }
        return rectangles;
    }

    @Test
    @DisplayName("the copy stands before the loop that triggers it, the fetch inside of the loop"
            + " that is buffered")
    void trigger() throws Exception {
        Products products = Products.of(64, 64, 64);
        KernelPlan plan = products.bound(16, 16, 8)
                .cache(ArrayCache.of(products.a())
                        .index(II)
                        .location(MemoryLocation.LOCAL)
                        .doubleBuffered()
                        .build())
                .cache(ArrayCache.of(products.b())
                        .level(1)
                        .triggerIndex(JJ)
                        .notThrifty()
                        .build());
        assertEquals(
                List.of(
                        "group-y  i < 64 by 16",
                        "group-x  j < 64 by 16",
                        "\u25b6 fill A_local: 16 x 8",
                        "for  k < 64 by 8",
                        "\u25b6 fetch A_local of the next k",
                        "item-y  ii < 16",
                        "\u25b6 fill B_private: 8 x 1",
                        "item-x  jj < 16",
                        "for  kk < 8",
                        "C[i, j] += A[i, k] * B[k, j]"),
                texts(plan).subList(0, 10));
        assertTrue(
                texts(plan)
                        .contains("B_private: level 1, 8 x 1 of B, 32 bytes of private memory,"
                                + " filled at level 2"),
                () -> PlanPicture.svg(plan));
    }

    @Test
    @DisplayName("a block has its part of the array, at its place; the next one is beside it")
    void places() throws Exception {
        Products products = Products.of(64, 64, 64);
        KernelPlan plan = KernelPlan.of(products.tiled(16, 16, 8))
                .cache(ArrayCache.of(products.a()).index(II).doubleBuffered().build());
        // in 160 x 160 pixels: rows 16 to 31 and columns 8 to 15, then columns 16 to 23
        List<Integer> array = rectangles(plan, "array").getFirst();
        assertEquals(List.of(160, 160), array.subList(2, 4));
        assertTrue(
                rectangles(plan, "block c0")
                        .contains(List.of(array.get(0) + 20, array.get(1) + 40, 20, 40)),
                () -> PlanPicture.svg(plan));
        assertEquals(
                List.of(List.of(array.get(0) + 40, array.get(1) + 40, 20, 40)),
                rectangles(plan, "outline c0"));
    }

    @Test
    @DisplayName("an elided cache is an outline, without a copy")
    void elided() throws Exception {
        Products products = Products.of(32, 32, 32);
        KernelPlan plan = KernelPlan.of(products.nest()
                        .schedule()
                        .tile(I.by(4), J.by(32))
                        .reorder(I, J, II, JJ, Products.K))
                .cache(ArrayCache.of(products.a()).index(II).build());
        assertFalse(texts(plan).stream().anyMatch(text -> text.contains("fill")));
        assertTrue(texts(plan).contains("A: level 3, 4 x 32 of A, used in place"));
        assertEquals(2, rectangles(plan, "outline c0").size());
    }

    @Test
    @DisplayName("pictures of random plans are XML, the same each time and in each language, and"
            + " within their frame")
    void random() throws Exception {
        Locale before = Locale.getDefault();
        for (int plan = 0; plan < 100; plan++) {
            KernelPlan random =
                    new PlanGenerator(TestSeed.random("picture " + plan), "plan").plan();
            String picture = PlanPicture.svg(random);
            Element root = parsed(picture).getDocumentElement();
            for (Element each : elements(parsed(picture), "rect")) {
                assertTrue(
                        number(each, "x") >= 0
                                && number(each, "x") + number(each, "width")
                                        <= number(root, "width") + 3
                                && number(each, "y") + number(each, "height")
                                        <= number(root, "height") + 3
                                && number(each, "width") > 0
                                && number(each, "height") > 0,
                        picture);
            }
            try {
                Locale.setDefault(Locale.forLanguageTag("ar-EG"));
                assertEquals(picture, PlanPicture.svg(random));
            } finally {
                Locale.setDefault(before);
            }
        }
    }
}
