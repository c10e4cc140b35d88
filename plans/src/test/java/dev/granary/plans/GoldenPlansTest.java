package dev.granary.plans;

import static dev.granary.plans.Products.II;
import static dev.granary.plans.Products.K;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotNull;

import static java.nio.charset.StandardCharsets.UTF_8;

import dev.granary.plans.ArrayCache.CopyStrategy;
import dev.granary.plans.ArrayCache.MemoryLocation;
import dev.granary.plans.nest.ElementType;
import dev.granary.plans.picture.PlanPicture;

import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

import java.io.IOException;
import java.io.InputStream;
import java.util.Locale;

/** Tests of emitted sources against files, which a reader may judge. */
class GoldenPlansTest {
    /** The plans with a file. */
    enum Golden {
        /** A product without schedule: one work-item. */
        NAIVE {
            @Override
            KernelPlan plan() {
                return KernelPlan.of(Products.of(64, 64, 64).nest().schedule());
            }
        },
        /** The example of Accera's manual. */
        MANUAL {
            @Override
            KernelPlan plan() {
                Products products = Products.of(1024, 1024, 1024);
                return KernelPlan.of(products.tiled(32, 64, 128))
                        .cache(ArrayCache.of(products.a())
                                .index(II)
                                .doubleBuffered()
                                .build());
            }
        },
        /** A product of uneven sizes in local and private memory. */
        TILED {
            @Override
            KernelPlan plan() {
                Products products = Products.of(127, 251, 11);
                return products.bound(16, 16, 8)
                        .cache(ArrayCache.of(products.a())
                                .index(II)
                                .location(MemoryLocation.LOCAL)
                                .doubleBuffered()
                                .build())
                        .cache(ArrayCache.of(products.b())
                                .index(II)
                                .location(MemoryLocation.LOCAL)
                                .build())
                        .cache(ArrayCache.of(products.c())
                                .index(K)
                                .location(MemoryLocation.PRIVATE)
                                .build());
            }
        },
        /** A product with a cache that incomplete tiles of one row leave out. */
        SECTION {
            @Override
            KernelPlan plan() {
                Products products = Products.of(33, 48, 16);
                return KernelPlan.of(products.tiled(4, 8, 8))
                        .cache(ArrayCache.of(products.a()).index(II).build());
            }
        },
        /** A product of even sizes with vectorised copies of other element types. */
        CONVERTED {
            @Override
            KernelPlan plan() {
                Products products = Products.of(64, 64, 64, ElementType.INT8);
                return products.bound(8, 8, 32)
                        .cache(ArrayCache.of(products.a())
                                .index(II)
                                .location(MemoryLocation.LOCAL)
                                .strategy(CopyStrategy.BLOCKED)
                                .vectorized()
                                .build())
                        .cache(ArrayCache.of(products.b())
                                .index(II)
                                .triggerLevel(5)
                                .location(MemoryLocation.LOCAL)
                                .elementType(ElementType.HALF)
                                .build())
                        .cache(ArrayCache.of(products.c())
                                .index(K)
                                .elementType(ElementType.INT32)
                                .build());
            }
        };

        abstract KernelPlan plan();

        String file(String ending) {
            return name().toLowerCase(Locale.ROOT) + ending;
        }
    }

    private static void assertFile(String name, String text) throws IOException {
        try (InputStream file = GoldenPlansTest.class.getResourceAsStream(name)) {
            assertNotNull(file, name);
            assertEquals(new String(file.readAllBytes(), UTF_8), text, name);
        }
    }

    @ParameterizedTest
    @EnumSource
    @DisplayName("the emitted kernel is that of the file")
    void source(Golden golden) throws Exception {
        assertFile(golden.file(".cl"), golden.plan().source());
    }

    @ParameterizedTest
    @EnumSource(names = {"TILED", "CONVERTED"})
    @DisplayName("the picture is that of the file")
    void picture(Golden golden) throws Exception {
        assertFile(golden.file(".svg"), PlanPicture.svg(golden.plan()));
    }
}
