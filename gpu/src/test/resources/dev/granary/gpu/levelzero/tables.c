/*
 * Tables of subjects that the test driver does not have. A loader of version 1.8 refuses a driver
 * without them; they stay empty.
 */
#include "driver.h"

#define EMPTY(name) \
    EXPORT uint32_t name##ProcAddrTable(uint32_t version, void** table) { \
        (void) version, (void) table; \
        return SUCCESS; \
    }

EMPTY(zeGetCommandQueue)
EMPTY(zeGetDeviceExp)
EMPTY(zeGetEvent)
EMPTY(zeGetEventExp)
EMPTY(zeGetEventPool)
EMPTY(zeGetFabricEdgeExp)
EMPTY(zeGetFabricVertexExp)
EMPTY(zeGetFence)
EMPTY(zeGetImage)
EMPTY(zeGetImageExp)
EMPTY(zeGetKernelExp)
EMPTY(zeGetPhysicalMem)
EMPTY(zeGetSampler)
EMPTY(zeGetVirtualMem)
EMPTY(zetGetCommandList)
EMPTY(zetGetContext)
EMPTY(zetGetDebug)
EMPTY(zetGetDevice)
EMPTY(zetGetKernel)
EMPTY(zetGetMetric)
EMPTY(zetGetMetricGroup)
EMPTY(zetGetMetricGroupExp)
EMPTY(zetGetMetricQuery)
EMPTY(zetGetMetricQueryPool)
EMPTY(zetGetMetricStreamer)
EMPTY(zetGetModule)
EMPTY(zetGetTracerExp)
EMPTY(zesGetDevice)
EMPTY(zesGetDiagnostics)
EMPTY(zesGetDriver)
EMPTY(zesGetEngine)
EMPTY(zesGetFabricPort)
EMPTY(zesGetFan)
EMPTY(zesGetFirmware)
EMPTY(zesGetFrequency)
EMPTY(zesGetLed)
EMPTY(zesGetMemory)
EMPTY(zesGetPerformanceFactor)
EMPTY(zesGetPower)
EMPTY(zesGetPsu)
EMPTY(zesGetRas)
EMPTY(zesGetScheduler)
EMPTY(zesGetStandby)
EMPTY(zesGetTemperature)
